### Deutsch (du). Fachwörter, die man englisch sagt (Checkpoint, Batch, Loss, Log, Rank, Shard), bleiben so.

## Zahlen

number-least-grouped = 1000
unit-day = d
statements-separator = …; …
labelled = { $label }: { $text }
clock-with-date = { $date }, { $time }

## Phasen, Belege, Herkunft

phase-step = Training
phase-evaluation = Evaluierung
phase-checkpoint = Checkpoint
phase-warmup = Warm-up
phase-data = Daten
phase-gc = Garbage Collection
phase-logging = Logging
phase-communication = Kommunikation
phase-stall = ungeklärt
phase-gap = Lücke
phase-unlogged = nicht im Log
basis-measured = gemessen
basis-inferred = abgeleitet
basis-assumed = geschätzt
basis-unpriced = { $count }×, ohne Zeitangabe
basis-in-steps = { $count }×, im Training enthalten
basis-unseen = keine Zeile, höchstens { $most }
origin-flag = angegeben
origin-config = Config
origin-log = Log
origin-detected = erkannt
origin-default = Vorgabe
part = { $phase } { $duration }
part-span = { $phase } { $duration } ({ $span })

## Der Lauf

run-progress = Iteration { $step } von { $total } ({ $share })
run-progress-open = Iteration { $step }
run-none = keine Iteration mit Zeit
run-unread = keine Iteration erkannt
run-normal = Eine normale Iteration dauert { $duration } (90 % liegen bei { $span }).
run-present = Derzeit dauert eine Iteration { $duration }.
run-normal-one = Eine normale Iteration dauert { $duration }.
run-median = Die mittlere Iteration (Median) dauert { $duration }.
run-tokens = { $tokens } Tokens/s.
run-before = Im Training davor dauerte eine { $duration }: Dieses ist { $share } { $pace ->
    [slower] langsamer
   *[faster] schneller
  }.
run-before-times = Im Training davor dauerte eine { $duration }: Dieses ist um den Faktor { $factor } { $pace ->
    [slower] langsamer
   *[faster] schneller
  }.
run-before-same = Im Training davor dauerte eine etwa genauso lang: { $duration }.
run-regimes = Das Tempo hat sich geändert: { $levels }.
run-level = { $duration } ab Iteration { $step }
run-evaluations-inside = Die Evaluierungen sind darin enthalten: Eine Zeile umfasst die Iterationen vor ihr samt Evaluierung und nennt keine Zeit für sie allein.
run-sampled-by-total = Das Log enthält nur jede { $count }. Iteration, und diese dauern länger; die Zeiten der übrigen folgen aus der ausgegebenen Gesamtzeit.
run-sampled = Das Log enthält nur jede { $count }. Iteration; die Zeiten der übrigen sind aus den ausgegebenen geschätzt.
run-settings = Einstellungen: { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu }: { $details }.
gpu-load = zu { $share } ausgelastet
gpu-memory = { $used } von { $total } GiB
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## Wie sich das Tempo ändert

trend-one = Eine einzelne Zeile zeigt keinen Trend.
trend-one-time = Eine einzelne ausgegebene Zeit zeigt keinen Trend.
trend-steady = Gleichmäßig (± { $share }): keine Verlangsamung in diesen Zeilen.
trend-steady-but = Gleichmäßig (± { $share }), nur die Iterationen { $first } bis { $last } waren langsamer.
trend-between = Die Iterationen { $first } bis { $last } dauerten { $level }, die meisten anderen { $normal }.
trend-scatter = Kein Trend: Die Zeiten schwanken zwischen { $low } und { $high }.
trend-two-speeds = Zwei Geschwindigkeiten: { $count } von { $total } ausgegebenen Iterationen dauern { $own }, die übrigen { $others }. Erstere sind um den Faktor { $factor } { $pace ->
    [faster] schneller
   *[slower] langsamer
}.
trend-every = Die { $pace ->
    [faster] schnelleren
   *[slower] langsameren
} kommen alle { $count } Iterationen.
trend-along = Die Iterationen werden { $pace ->
    [faster] schneller
   *[slower] langsamer
}: von { $before } auf { $after } innerhalb dieser Zeilen ({ $share }).
trend-along-times = Die Iterationen werden { $pace ->
    [faster] schneller
   *[slower] langsamer
}: von { $before } auf { $after } innerhalb dieser Zeilen (Faktor { $factor }).
trend-since = Seit Iteration { $step } rund { $share } { $pace ->
    [faster] schneller
   *[slower] langsamer
}: vorher { $before }, danach { $after }.
trend-since-times = Seit Iteration { $step } um den Faktor { $factor } { $pace ->
    [faster] schneller
   *[slower] langsamer
}: vorher { $before }, danach { $after }.
data-bottleneck = Das Warten auf Daten kostet { $share } der Zeit ({ $wait } von { $step } pro Iteration): Der Engpass ist das Laden der Daten, und die GPU wartet darauf.
data-share = Das Warten auf Daten kostet { $share } der Zeit ({ $wait } von { $step } pro Iteration).
data-bottleneck-step = Das Warten auf Daten kostet { $share } jeder Iteration ({ $wait } von { $step }): Der Engpass ist das Laden der Daten, und die GPU wartet darauf.
data-share-step = Das Warten auf Daten kostet { $share } jeder Iteration ({ $wait } von { $step }).
data-first = Nur die erste Zeile wartet auf Daten: Bis Iteration { $step } waren es je { $duration }, danach { $usual }. Das Laden der Daten bremst den Rest nicht.
data-minor = Das Warten auf Daten kostet { $share } der Zeit: Das Laden der Daten ist nicht der Engpass.
part-of-step = Der größte Teil einer Iteration ist „{ $name }“: { $duration } von { $whole } ({ $share }).
data-by-means = Das Warten auf Daten kostet nach den Mittelwerten im Log { $share } der Zeit ({ $wait } von { $step } pro Iteration): In den ausgegebenen Iterationen ist davon zufällig wenig zu sehen.
data-in-means = Das Warten auf Daten kostet nach den Mittelwerten im Log { $share } der Zeit ({ $wait } von { $step } pro Iteration).
data-at-once = Das Warten auf Daten kostet { $share } der Zeit, fast alles davon in { $count ->
    [one] Iteration { $step }
   *[other] { $count } langsamen Iterationen, am längsten in { $step }
} ({ $duration }).
past-total = Der Zähler liegt über 100 %: Das Training setzt ein geladenes Modell fort, und die ausgegebene Restzeit hat keine Bedeutung.
rate-needs-size = Das Log gibt nur Raten aus; um daraus Sekunden pro Iteration zu berechnen, fehlt die Batchgröße.
rate-one = { $level } { $unit } pro Sekunde in einer einzigen Zeile: Ein Trend ist daran nicht zu erkennen.
rate-one-time = { $level } { $unit } pro Sekunde, nur einmal ausgegeben: Ein Trend ist daran nicht zu erkennen.
rate-steady = Gleichmäßig (± { $share }): { $level } { $unit } pro Sekunde.
rate-scatter = Kein Trend: Das Tempo schwankt zwischen { $low } und { $high } { $unit } pro Sekunde.
rate-two-speeds = Zwei Geschwindigkeiten: { $count } von { $total } ausgegebenen Iterationen laufen mit { $other_low } bis { $other_high } { $unit } pro Sekunde, die übrigen mit { $low } bis { $high }. Erstere sind um den Faktor { $factor } { $pace ->
    [faster] schneller
   *[slower] langsamer
}.
rate-along = Das Tempo { $pace ->
    [faster] steigt
   *[slower] fällt
} innerhalb dieser Zeilen von { $before } auf { $after } { $unit } pro Sekunde ({ $share }).
rate-along-times = Das Tempo { $pace ->
    [faster] steigt
   *[slower] fällt
} innerhalb dieser Zeilen von { $before } auf { $after } { $unit } pro Sekunde (Faktor { $factor }).
rate-since = Seit Iteration { $step } rund { $share } { $pace ->
    [faster] schneller
   *[slower] langsamer
}: vorher { $before } { $unit } pro Sekunde, danach { $after }.
rate-since-times = Seit Iteration { $step } um den Faktor { $factor } { $pace ->
    [faster] schneller
   *[slower] langsamer
}: vorher { $before } { $unit } pro Sekunde, danach { $after }.

## Wo die Zeit geblieben ist

section-time = Wo die Zeit geblieben ist
section-slow = Langsame Iterationen
section-finish = Wann es fertig ist
section-change = Was sich zu ändern lohnt
section-alarms = Alarme
section-normal = Normale Iterationen
section-log = Was gelesen wurde
time-table-phase = Phase
time-table-time = Zeit
time-table-share = Anteil
time-table-range = Spanne
time-table-basis = Grundlage
time-total = gesamt

## Langsame Iterationen

slow-none = Keine Iteration war langsamer als ihre Nachbarn.
slow-none-alone = Keine einzelne Iteration hebt sich von ihren Nachbarn ab.
slow-column-step = Iteration
slow-column-took = dauerte
slow-column-why = besteht aus
slow-more = { $count ->
    [one] … und eine weitere: { $causes }
   *[other] … und { $count } weitere: { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = Evaluierung
cause-checkpoint = Checkpoint
cause-warmup = Warm-up
cause-data = Daten
cause-gc = Garbage Collection
cause-unexplained = ungeklärt
slow-unexplained = { $count ->
    [one] Eine langsame Iteration ist ungeklärt ({ $duration } länger als normal).
   *[other] { $count } langsame Iterationen sind ungeklärt (zusammen { $duration } länger als normal).
  }
slow-first-no-save = Bei Iteration 0 wird kein Checkpoint gespeichert. Die Zeit über die Evaluierung hinaus ist Warm-up: Kompilieren und erste GPU-Nutzung.
split-stamps = Evaluierung und Checkpoint sind anhand der Zeitstempel getrennt.
split-contrast = Evaluierung und Checkpoint sind durch den Vergleich von Evaluierungen mit und ohne Checkpoint getrennt.
split-first-step = Evaluierung und Checkpoint sind anhand der ersten Evaluierung getrennt, die nichts speichert.
split-model = In diesem Log lassen sich Evaluierung und Checkpoint nicht trennen, weil jeder Checkpoint auf eine Evaluierung folgt. Die Aufteilung ist aus der Zahl der Forward-Durchläufe und üblichen Checkpoint-Zeiten geschätzt; die Spannen zeigen die Unsicherheit.
split-guess = In diesem Log lassen sich Evaluierung und Checkpoint nicht trennen, weil jeder Checkpoint auf eine Evaluierung folgt und unbekannt ist, wie viele Batches eine Evaluierung umfasst (gib --set eval_iters=N an). Die Aufteilung ist aus üblichen Checkpoint-Zeiten geschätzt; die Spannen zeigen die Unsicherheit.
split-guess-plain = In diesem Log lassen sich Evaluierung und Checkpoint nicht trennen, weil jeder Checkpoint auf eine Evaluierung folgt. Die Aufteilung ist aus üblichen Checkpoint-Zeiten geschätzt; die Spannen zeigen die Unsicherheit.
split-not-yet = Was ein Checkpoint kostet, lässt sich noch nicht sagen: Dazu sind etwa { $needed } Evaluierungen mit und ohne Checkpoint nötig, und im Log sind es { $count }.
split-settle = Für genaue Zahlen versieh die Log-Zeilen mit Zeitstempeln: { $command }
stamps-unusable = Die Zeitstempel widersprechen den ausgegebenen Zeiten (blockweise gepufferte Pipe?) und werden nicht verwendet. Starte python mit -u.
arrivals-unused = Die aufgezeichneten Ankunftszeiten widersprechen den Zeiten in den Zeilen; verwendet werden die ausgegebenen Zeiten.
evidence-marker = folgt auf „{ $line }“
evidence-markers = folgt auf „{ $line }“ und „{ $save }“
evidence-first = die erste Iteration des Prozesses: Kompilieren und erste GPU-Nutzung
evidence-unprinted = bei dieser Iteration evaluiert der Trainer immer; die Zeile dazu fehlt im Log
evidence-inside = im Prozess gemessen: { $parts }
evidence-none = keine Zeile nennt einen Grund; { $duration } länger als ihre Nachbarn

## Wann es fertig ist

finish-left = noch { $duration } ({ $span } mit { $confidence } Wahrscheinlichkeit)
finish-at = Ende: { $time } ({ $low } – { $high })
finish-from-flag = gerechnet ab { $time }, wie angegeben
finish-from-stamp = gerechnet ab { $time }, dem letzten Zeitstempel im Log
finish-from-stamp-plus = gerechnet ab { $time }, dem letzten Zeitstempel, plus { $duration } an Iterationen, die danach ausgegeben wurden
finish-from-no-year = { $text }; ein Jahr steht nicht dabei, { $year } ist anhand des Dateidatums angenommen
finish-from-no-day = { $text }; ein Datum steht nicht dabei, der Tag ist anhand des Dateidatums angenommen
finish-from-nvidia-smi = gerechnet ab { $time }, der Uhrzeit in der nvidia-smi-Tabelle
finish-from-mtime = gerechnet ab { $time }, als die Datei zuletzt geschrieben wurde
finish-from-clock = gerechnet ab jetzt, { $time }
finish-ended = Der Lauf ist zu Ende. Würde er jetzt ab seiner letzten Iteration fortgesetzt, bräuchte er noch so lange.
finish-complete = Der Lauf ist abgeschlossen: Iteration { $step } von { $total }.
left-step = { $count ->
    [one] eine Iteration
   *[other] { $count } Iterationen
  }
left-evaluation = { $count ->
    [one] eine Evaluierung
   *[other] { $count } Evaluierungen
  }
left-checkpoint = { $count ->
    [one] ein Checkpoint
   *[other] { $count } Checkpoints
  }
left-priced = { $what } ({ $duration })
left-unpriced = { $what } (Kosten unbekannt)
left-line = Es folgen noch: { $items }.
finish-next-evaluation = Nächste Evaluierung bei Iteration { $step }.
rough-own = Laut Trainer noch etwa { $duration }; aus diesen Zeilen allein lässt sich nichts Genaueres schätzen.
rough-own-first = Laut Trainer noch etwa { $duration }. Die Angabe beruht auf der ersten und einzigen Iteration, die das Warm-up enthält; spätere sind meist schneller.
rate-and-time = { $rate } { $unit } pro Sekunde und { $duration } pro Iteration ergeben { $count } { $unit } pro Iteration.
skipped-few = { $count ->
    [one] Ein Optimizer-Schritt wurde
   *[other] { $count } Optimizer-Schritte wurden
} bisher übersprungen.
finish-last-event = Das letzte Ereignis im Log ist „{ $phase }“ (Zeile { $line }); danach wird keine Iteration mehr ausgegeben.
rough-bar = Noch etwa { $duration } bis zum Ende dieses Fortschrittsbalkens, der vielleicht nur eine von mehreren Epochen umfasst.
rough-few = Noch etwa { $duration } bei diesem Tempo{ $range }: eine grobe Schätzung aus sehr wenigen Zeilen.
rough-two = Noch zwischen { $low } und { $high }: Die mittlere Geschwindigkeit des Fortschrittsbalkens und seine letzte Rate unterscheiden sich um den Faktor { $factor }.
rough-first = Noch etwa { $duration }, wenn alle Iterationen so lange dauern wie diese erste{ $range }. Sie enthält das Warm-up, daher ist die Schätzung grob.
finish-none = Keine Endzeit: { $reason }
finish-none-rough = Noch keine genauere Schätzung: { $reason }
finish-rate = Bei derzeit { $duration } pro Iteration dauern die nächsten 1.000 Iterationen { $thousand }.
finish-rate-evaluations = Bei derzeit { $duration } pro Iteration dauern die nächsten 1.000 Iterationen { $thousand }, { $count ->
        [one] eine Evaluierung
       *[other] { $count } Evaluierungen
    } eingerechnet.
reason-no-steps = Es gibt noch keine Iteration mit Zeit. Versuche es nach einigen weiteren Zeilen noch einmal.
reason-times-doubt = „{ $text }“ kann die Zeit einer Iteration sein oder die von { $count }; nichts im Log zeigt, welche.
reason-no-times = Das Log enthält Iterationen, aber keine Zeiten.
reason-no-total = Das Log nennt die Gesamtzahl der Iterationen nicht. Gib --max-steps N an oder --config mit den Einstellungen des Laufs.
reason-loop-of-fits = Das Log zeigt { $count } Aufrufe von fit nacheinander, jeder über eine einzige Epoche; wie viele noch kommen, steht nicht darin.
reason-implausible-total = Die angegebene Gesamtzahl von { $total } Iterationen ist unplausibel: Beim jetzigen Tempo würden sie noch { $left } dauern. Gib --max-steps N an.
reason-too-few = { $count ->
    [one] Bisher wurde nur eine normale Iteration ausgegeben; für das Tempo sind drei nötig. Versuche es nach einigen weiteren Zeilen noch einmal.
   *[other] Bisher wurden nur { $count } normale Iterationen ausgegeben; für das Tempo sind drei nötig. Versuche es nach einigen weiteren Zeilen noch einmal.
  }
assume-level = Angenommen ist das jetzige Tempo von { $duration } pro Iteration.
assume-no-evaluations = Evaluierungen sind nicht eingerechnet: Ihr Intervall ist unbekannt. Gib --set eval_interval=N an.
assume-evaluations-unannounced = Künftige Evaluierungen sind geschätzt: Ihr Intervall ist unbekannt, und seit der ersten Iteration gab es keine. Gib --set eval_interval=N an.
assume-evaluation-unpriced = Evaluierungen sind nicht eingerechnet: Bisher wurde keine gemessen, und die Zahl der Batches pro Evaluierung ist unbekannt. Gib --set eval_iters=N an.
assume-evaluation-prior = Bisher wurde keine Evaluierung gemessen: Ihre Kosten sind aus der Zahl der Forward-Durchläufe berechnet.
assume-save-prior = Bisher wurde kein Checkpoint gemessen: Angenommen sind übliche Kosten.
assume-evaluation-outside = Die Uhr dieses Logs steht während der Evaluierungen, und nichts anderes zeigt, was sie kosten. Die Restzeit ist nach dieser Uhr gerechnet, also ohne sie; nur das obere Ende ihrer Spanne lässt Platz dafür.
assume-saves = Angenommen ist, dass wie zuletzt auf { $share } der Evaluierungen ein Checkpoint folgt.
assume-default-interval = Angenommen ist das voreingestellte Evaluierungsintervall des Trainers, { $count } Iterationen; im Log ist es noch nicht bestätigt. Gib --set eval_interval=N an.
assume-further-trainings = { $count ->
    [one] Nach diesem Training kommt noch eines mit ebenfalls { $steps } Iterationen; seine Zeit ist eingerechnet.
   *[other] Nach diesem Training kommen noch { $count } weitere mit je { $steps } Iterationen; ihre Zeit ist eingerechnet.
}
assume-default-total = Angenommen ist die voreingestellte Zahl der Iterationen, { $count }; die Gesamtzahl steht nirgends.

## Was sich zu ändern lohnt

change-none = Keine lohnende Änderung: Evaluierungen und Checkpoints kosten { $share } der Zeit.
change-none-data = Versorge die GPU schneller mit Daten: Das Warten darauf kostet { $share } der Zeit.
change-unknown = Keine Empfehlung: Dieses Log zeigt nicht, was Evaluierungen kosten.
change-scope-rest = Ersparnis für den Rest dieses Laufs. Die Werte überschneiden sich; addiere sie nicht.
change-scope-run = Ersparnis bei einem Lauf wie diesem. Die Werte überschneiden sich; addiere sie nicht.
change-line = { $change }: spart { $duration } ({ $span })
advice-a101-costs = Den Validierungs-Loss siehst du nur noch jedes { $factor }. Mal. Checkpoints werden nur nach Evaluierungen gespeichert, also kann ein Absturz bis zu { $steps } Iterationen kosten ({ $duration }).
advice-a101-evidence = { $count } Evaluierungen zu je { $duration } kosten { $share } der Zeit. Ein größeres Intervall bedeutet weniger davon.
advice-a102-costs = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }.
advice-a102-costs-unknown = Der Standardfehler des Validierungs-Loss wächst um den Faktor { $factor }; für den Ausgangswert enthält dieses Log zu wenige Losses.
advice-a102-evidence = Jede Evaluierung rechnet { $count } Batches { $splits ->
    [one] aus einem Split
   *[other] aus jedem von { $splits } Splits
  }. Die Kosten wachsen mit der Zahl der Batches, die Genauigkeit nur mit deren Wurzel.
advice-a103-costs = Der Trainings-Loss der Evaluierungen entfällt; die Iterationszeilen zeigen ihn ohnehin. Dazu musst du estimate_loss in train.py ändern.
advice-a103-evidence = Die Hälfte jeder Evaluierung misst den Trainings-Split.
advice-a104-costs = Nach einem Absturz geht es beim besten Checkpoint weiter, nicht beim letzten.
advice-a104-evidence = Checkpoints kosten { $share } der Zeit; von den letzten Evaluierungen haben { $improving } den bis dahin besten Loss unterboten.

## Alarme

alarm-nan = { $count ->
    [one] Der Loss ist ab Iteration { $step } NaN oder unendlich (einmal im Log). Alles danach ist umsonst.
   *[other] Der Loss ist ab Iteration { $step } NaN oder unendlich ({ $count }-mal im Log). Alles danach ist umsonst.
  }
alarm-oom = Speicher voll: { $text }
alarm-crash = Traceback oder fatales Signal: { $text }
alarm-interrupted = Der Lauf wurde abgebrochen: { $text }
alarm-ended-early = Der Lauf endete vorzeitig, nach Iteration { $step } von { $total }.
alarm-ended-early-unknown = Der Lauf endete nach Iteration { $step }; wie viele geplant waren, steht nicht im Log.
alarm-ended-before-steps = Der Lauf endete, bevor die erste Iteration fertig war.
alarm-restarted = { $count ->
    [0] Der Lauf wurde nach Iteration { $before } neu gestartet, ab Iteration { $step }.
    [one] Der Lauf wurde nach Iteration { $before } neu gestartet, ab Iteration { $step }: Eine Iteration ({ $lost }) wurde zweimal gerechnet.
   *[other] Der Lauf wurde nach Iteration { $before } neu gestartet, ab Iteration { $step }: { $count } Iterationen ({ $lost }) wurden zweimal gerechnet.
  }
alarm-slowdown = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, seitdem { $after }.
alarm-contradiction = { $setting } ist mit { $stated } angegeben, aber das Log zeigt { $seen }; verwendet wird der Wert aus dem Log.
alarm-contradiction-mfu = { $setting } ist mit { $stated } angegeben, aber die ausgegebene MFU und die Zeiten passen zu { $seen }: Prüfe die Config und ob diese Kopie des Trainers ihre MFU auf die Spitzenleistung einer anderen GPU bezieht.
state-total = Iteration { $step } von { $total } ist die letzte
state-words = im Log steht: { $text }
state-last-printed = Iteration { $step } ist die letzte von { $total }, die das Log ausgibt, und was danach noch zu tun war, ist erledigt
state-after-stop = das Log endet direkt nach einer Evaluierung oder einem Checkpoint, die darin selten vorkommen; nichts deutet darauf hin, dass noch etwas kommen sollte
state-silent = das Log endet ohne Meldung, und wann es geschrieben wurde, ist nicht zu erkennen
state-last-written = letzte Zeile: { $at }; üblicher Abstand zwischen zwei Zeilen: { $usual }
reason-over-state-total = Der Lauf ist abgeschlossen: Iteration { $step } von { $total }.
reason-over-state-words = Der Lauf ist zu Ende. Im Log steht: { $text }
reason-over-state-last-printed = Der Lauf ist abgeschlossen: Iteration { $step } ist die letzte von { $total }, die das Log ausgibt.
state-exit = der Befehl endete mit Exit-Code { $code }
state-signal = der Befehl wurde durch { $name } beendet (Exit-Code { $code })
reason-over-state-exit = Der Lauf ist zu Ende: Der Befehl endete mit Exit-Code { $code }.
reason-over-state-signal = Der Lauf ist zu Ende: Der Befehl wurde durch { $name } beendet (Exit-Code { $code }).
alarm-crash-code = Traceback oder fatales Signal: { $text } (Exit-Code { $code })
alarm-exit-code = Der Befehl schlug mit Exit-Code { $code } fehl; seine Ausgabe nennt keinen Grund.
alarm-signal = Der Befehl wurde durch { $name } beendet (Exit-Code { $code }).
alarm-killed = Der Befehl wurde durch { $name } beendet (Exit-Code { $code }); oft ist dann der Speicher ausgegangen, dmesg würde das zeigen.
alarm-walltime = Ende des Jobs: { $time }. Bis dahin ist der Lauf mit einer Wahrscheinlichkeit von { $share } fertig (Iteration { $step } von { $total } ist die letzte, die sich rechtzeitig speichern lässt).
alarm-save-now = Jetzt speichern! Ende des Jobs: { $time }; Iteration { $step } ist die letzte, die sich rechtzeitig speichern lässt.
alarm-nan-passed = { $count ->
    [one] Bei Iteration { $step } ist der Loss keine Zahl; ab Iteration { $later } sind die Losses wieder endlich.
   *[other] { $count } Losses sind keine Zahlen, der erste bei Iteration { $step }; ab Iteration { $later } sind sie wieder endlich.
}
alarm-nan-unread = { $count } Zeilen enthalten einen Loss, der keine Zahl ist; die erste ist Zeile { $line }.
alarm-skipped-steps = { $count } von { $total } Optimizer-Schritten ({ $share }) wurden übersprungen: Ihre Gradienten waren nicht endlich, also änderte sich kein Gewicht.
alarm-skipped-since = Seit Iteration { $step } wurde bis Iteration { $last } jeder Optimizer-Schritt übersprungen: Kein Gewicht ändert sich mehr.
alarm-memory-pressure = { $count } Zeilen melden, dass der GPU-Speicher so voll ist, dass PyTorch seinen Cache freigibt, was die Iterationen bremst: { $text }
alarm-memory-ran-out = Der GPU-Speicher war erschöpft, das Programm lief weiter: { $text }
alarm-line = Zeile { $line }

## Was gelesen wurde

read-unread = { $unread ->
    [one] Eine von { $lines } Zeilen wurde nicht verstanden, Zeile { $line }: { $text }
   *[other] { $unread } von { $lines } Zeilen wurden nicht verstanden, zuerst Zeile { $line }: { $text }
  }
read-all = Alle { $lines } Zeilen wurden verstanden.

## Notizen

note-title = { $count ->
    [one] Warum Iteration { $steps } langsam war
   *[other] Warum die Iterationen { $steps } langsam waren
  }
note-title-many = Warum { $count } Iterationen langsam waren
note-title-none = Wo die Zeit eines Trainingslaufs geblieben ist
note-title-eta = Geschätzte Trainingszeit: etwa { $duration }
note-title-eta-none = Geschätzte Trainingszeit: noch nicht bekannt
note-intro = { $count ->
    [one] In { $lines } Log-Zeilen fand sich eine langsame Iteration.
   *[other] In { $lines } Log-Zeilen fanden sich { $count } langsame Iterationen.
  }
note-intro-none = In { $lines } Log-Zeilen fand sich keine langsame Iteration.
note-slow-lines = Das zeigt das Log an diesen Stellen:
note-list-and = { $first } und { $last }
section-progress = Stand
section-evaluations = Verbleibende Evaluierungen
section-estimate = Zeitschätzung
note-progress-done = { $step } von { $total } Iterationen sind fertig.
note-progress-left = Verbleibende Iterationen: { $count }.
note-evaluation-every = Alle { $every } Iterationen kommt eine Evaluierung, die { $duration } dauert ({ $span }).
note-evaluation-next = Die nächste ist bei Iteration { $next }, dann { $after } …, die letzte bei { $last }.
note-evaluation-left = Verbleibende Evaluierungen: { $count }.
note-evaluation-unknown = Wie oft der Lauf evaluiert, ist nicht bekannt.
note-total = Verbleibende Gesamtzeit: { $duration }.
note-interval = Spanne: { $span }, mit { $confidence } Wahrscheinlichkeit.
note-hardware-assumed = Laut nvidia-smi: { $details }.

## Befehle

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = Die Zeit umfasst: { $covers }; darin enthalten: { $includes }.
formats-lines = Zeilen, die es erkennt:
formats-try-none = Kein bekanntes Format passt zu dieser Datei.
formats-try-claimed = { $name }: { $count } von { $lines } Zeilen erkannt, davon { $steps } als Iterationen
demo-intro = Der Referenzfall: nanoGPT auf einer RTX 4070 um 02:30. Zum Nachvollziehen: { $command }
written = geschrieben: { $path }
doc-in-english = Diese Seiten gibt es nur auf Englisch.
error-title = Fehler
error-try = Abhilfe

## Fehler

error-no-such-file = Datei nicht gefunden
    .hint = { $nearby ->
        [none] prüfe den Pfad; ein Ordner, - für die Standardeingabe und .gz, .xz, .zst gehen auch
       *[other] meintest du { $nearby }?
      }
error-unreadable = nicht lesbar: { $reason }
    .hint = prüfe die Rechte: ls -l { $place }
error-folder-without-log = in diesem Ordner liegt kein Trainings-Log, nur { $count ->
    [one] { $names }
   *[other] { $count } andere Dateien: { $names }
  }
    .hint = nenne das Log selbst, oder zeichne einen Lauf auf: stepscope run -- python train.py
error-folder-empty = in diesem Ordner liegt keine lesbare Datei
    .hint = nenne das Log selbst, oder zeichne einen Lauf auf: stepscope run -- python train.py
error-empty = die Datei ist leer
    .hint = wird die Ausgabe des Trainers gepuffert? Starte python mit -u und versuche es noch einmal, sobald etwas ausgegeben wurde
error-binary = keine Textdatei
    .hint = gib an, was der Trainer ausgegeben hat, zum Beispiel: python -u train.py | tee train.log
error-broken-archive = die komprimierte Datei lässt sich nicht entpacken: { $reason }
    .hint = entpacke sie von Hand, um zu sehen, was noch da ist: zcat { $place } | stepscope -
error-broken-database = die Datenbank lässt sich nicht lesen: { $reason }
    .hint = rette mit sqlite3 { $place } .recover, was geht, oder exportiere die Metriken als CSV
error-no-metrics-table = die Datenbank hat keine Tabelle namens metrics, ist also nicht von MLflow
    .hint = gib das Log des Trainings an oder exportiere seine Metriken als CSV oder JSON-Zeilen
error-not-a-training-log = kein bekanntes Format passt zu dieser Datei, und sie ist nicht wie ein Trainings-Log aufgebaut
    .hint = stepscope formats try { $path } --suggest     zeigt, wie weit jedes Format kommt und wie du ein neues anlegst
error-nvidia-smi-table = das ist die Ausgabe von nvidia-smi, kein Trainings-Log
    .hint = stepscope train.log --nvidia-smi { $path }     erklärt ein Log damit
error-no-format-fits = kein bekanntes Format passt zu dieser Datei; Zeilen wie diese sind vielleicht Iterationen, aber welche Zahl die Iteration oder die Zeit ist, bleibt unklar
    .hint = stepscope formats try { $path } --suggest     zeigt, wie weit jedes Format kommt und wie du ein neues anlegst
error-no-such-config = Config-Datei nicht gefunden
    .hint = --config erwartet die Datei, mit der der Lauf gestartet wurde, zum Beispiel config/train_gpt2.py
error-config-is-folder = die Config ist ein Ordner
    .hint = nenne die Datei selbst
error-config-too-large = zu groß für eine Config-Datei
    .hint = ist das das Log? stepscope { $place }
error-config-not-text = die Config ist keine Textdatei
    .hint = --config erwartet nanoGPTs config.py, JSON oder TOML
error-config-syntax = die Config lässt sich nicht lesen: { $reason }
    .hint = korrigiere sie oder gib nur an, worauf es ankommt: --set max_iters=20000 --set eval_interval=500
error-config-too-deep = die Config ist mehr als { $limit } Ebenen tief verschachtelt
    .hint = gib nur an, worauf es ankommt: --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = die Config enthält mehr als { $limit } Werte, wenn man ihre Aliase ausschreibt
    .hint = gib nur an, worauf es ankommt: --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = keine nvidia-smi-Tabelle
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = über diese Pipe kamen mehr als { $size }
    .hint = speichere eine einzelne Ausgabe: nvidia-smi > smi.txt
error-bad-setting = --set erwartet schlüssel=wert
    .hint = zum Beispiel: --set eval_interval=500
error-unknown-setting = unbekannte Einstellung
    .hint = { $nearest ->
        [none] zur Wahl stehen: { $known }
       *[other] meintest du { $nearest }?
      }
error-bad-count = { $setting } muss eine ganze Zahl ab 1 sein
    .hint = zum Beispiel: --set { $setting }=500
error-bad-max-steps = --max-steps erwartet eine ganze Zahl ab 1
    .hint = zum Beispiel: --max-steps 20000
error-bad-moment = keine gültige Zeitangabe: { $text }
    .hint = zum Beispiel: --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence muss zwischen 0.5 und 0.99 liegen
    .hint = zum Beispiel: --confidence 0.9
error-bad-language = unbekannte Sprache: { $text }
    .hint = { $nearest ->
        [none] zur Wahl stehen: { $known }
       *[other] meintest du { $nearest }?
      }
error-bad-choice = { $text } ist kein gültiger Wert für { $flag }
    .hint = { $nearest ->
        [none] zur Wahl stehen: { $known }
       *[other] meintest du { $nearest }?
      }
error-no-such-command = unbekannter Befehl
    .hint = { $nearest ->
        [none] zur Wahl stehen: { $known }
       *[other] meintest du { $nearest }?
      }
error-unknown-flag = unbekannte Option: { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     zeigt die Optionen
       *[other] meintest du { $nearest }?
      }
error-unknown-command = weder ein Befehl noch eine Datei
    .hint = meintest du stepscope { $nearest }?
error-too-many-arguments = zu viele Argumente für { $command }
    .hint = { $command } --help     zeigt die Verwendung
error-wrong-usage = { $reason }
    .hint = { $command } --help     zeigt die Verwendung
error-missing-argument = ein Argument fehlt: { $missing }
    .hint = { $command } --help     zeigt die Verwendung
error-missing-value = { $flag } braucht einen Wert
    .hint = { $command } --help     zeigt die Verwendung
error-languages-need-folder = mehrere Sprachen brauchen mehrere Dateien
    .hint = nenne einen Ordner dafür: -o notizen/
error-no-such-format = unbekanntes Format
    .hint = { $nearest ->
        [none] stepscope formats     listet sie auf
       *[other] meintest du { $nearest }?
      }
error-no-such-code = unbekannter Code
    .hint = zur Wahl stehen: { $known }
error-cannot-write = lässt sich nicht schreiben: { $reason }
    .hint = wähle mit -o einen anderen Ort
error-unread-lines = { $count ->
    [one] eine Zeile wurde nicht verstanden (--strict)
   *[other] { $count } Zeilen wurden nicht verstanden (--strict)
  }
    .hint = stepscope formats try { $path }     zeigt sie

## Ein Plan vor dem Lauf

plan-model = { $parameters } Parameter: { $layers } Schichten × { $hidden }, Kontext { $context }, Vokabular { $vocabulary }
plan-training = { $steps } Iterationen mit { $tokens } Tokens (batch_size { $batch } × gradient_accumulation_steps { $accumulation } × { $context }); { $flops } GFLOP pro Token.
plan-memory = Speicher bei batch_size { $batch }: { $parts }.
plan-memory-weights = Gewichte
plan-memory-gradients = Gradienten
plan-memory-optimizer = Optimizer
plan-memory-activations = Aktivierungen
plan-memory-logits = Logits
plan-memory-context = CUDA-Kontext
plan-row-memory = Speicher (GiB)
plan-row-largest = größte batch_size
plan-row-step = Iteration
plan-row-band = … 90-%-Band
plan-row-tokens = Tokens pro Sekunde
plan-row-utilisation = MFU dieser GPU
plan-row-evaluation = eine Evaluierung
plan-row-checkpoint = ein Checkpoint
plan-row-total = ganzer Lauf
plan-row-finish = Ende
plan-row-energy = Energie
plan-row-cost = Kosten
plan-fits = { $used } von { $total }
plan-fits-barely = { $used } von { $total }, knapp
plan-fits-not = { $used } von { $total }, zu viel
plan-fits-nothing = { $gpu }: Nicht einmal eine Sequenz passt in den Speicher. Nimm ein kleineres Modell oder einen kürzeren Kontext.
plan-calibrating = Messung auf diesem Rechner läuft …
plan-note-calibrated = Hier gemessen ({ $gpu }): { $tflops } TFLOPS, Speicher { $bandwidth } GB/s, Platte { $disk } MB/s.
plan-note-defaults = Nicht angegeben, daher die Vorgaben des Trainers: { $names }.
plan-note-derived = Die Modellgröße ist nicht angegeben. Zu { $duration } für { $tokens } Tokens auf { $gpu } passen { $low } bis { $high } Parameter; die Tabelle nimmt einen Wert dazwischen. Für genaue Zahlen gib sie an: --params oder n_layer und n_embd in der Config.
plan-note-derived-memory = Die Modellgröße ist nicht angegeben. Zu { $duration } für { $tokens } Tokens auf { $gpu } und zum belegten Speicher passen { $low } bis { $high } Parameter; die Tabelle nimmt einen Wert dazwischen. Für genaue Zahlen gib sie an: --params oder n_layer und n_embd in der Config.
error-unknown-card = unbekannte GPU
    .hint = zum Beispiel: { $known }
error-plan-needs-card = welche GPU?
    .hint = nenne sie: --gpu 4070 oder mehrere: --gpu 4070,4080,4090; oder miss auf diesem Rechner: --calibrate
error-plan-needs-model = welches Modell?
    .hint = --config config/train_gpt2.py oder --params 124M oder --layers 12 --hidden 768
error-plan-shape-missing = in der Config fehlt, was die Modellgröße bestimmt: { $names }
    .hint = ergänze es mit --set oder gib die Größe an: --params 7B
error-plan-bad-shape = kein Modell hat eine solche Form
    .hint = zum Beispiel: --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = keine gültige Parameterzahl
    .hint = zum Beispiel: --params 124M
error-bad-devices = --devices erwartet eine ganze Zahl ab 1
    .hint = zum Beispiel: --devices 8
error-bad-price = kein gültiger Preis
    .hint = zum Beispiel: --price 0.40/h oder --price 0.30/kWh
error-plan-from-needs-card = welche GPU hat dieses Log geschrieben?
    .hint = --from-gpu 4070 oder eine gespeicherte Tabelle: --nvidia-smi nvidia-smi.txt
error-plan-needs-context = wie viele Tokens hat eine Sequenz? Das Log sagt es nicht
    .hint = zum Beispiel: --context 1024
error-plan-log-untimed = in diesem Log steht keine normale Iteration mit Zeit zum Kalibrieren
    .hint = plane ohne das Log oder versuche es noch einmal, wenn es ein paar Zeilen mehr hat
error-plan-not-derived = kein Modell üblicher Form braucht auf dieser GPU so lange: Stimmen GPU und Batchgröße?
    .hint = gib das Modell an: --params 124M
## Several trainings, several writers
alarm-trainings = Das Log enthält { $count } Trainings nacheinander. Dieser Bericht behandelt das letzte, ab Zeile { $line }; die Zeit der anderen steht in der Aufstellung.
alarm-writers = { $count ->
    [one] Zwei Prozesse schreiben in dieses Log. Eine Iteration des anderen Prozesses ist nicht mitgezählt.
   *[other] Zwei Prozesse schreiben in dieses Log. { $count } Iterationen des anderen Prozesses sind nicht mitgezählt.
  }
alarm-straggler = Rank { $rank } ist um { $share } langsamer als die anderen: { $own } pro Iteration statt { $others }. Alle Ranks warten auf ihn.
alarm-straggler-host = Rank { $rank } auf { $host } ist um { $share } langsamer als die anderen: { $own } pro Iteration statt { $others }. Alle Ranks warten auf ihn.

## Mehr Rat, und was eine Änderung täte

advice-a102-costs-seen = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }; zwischen zwei Evaluierungen fällt der Loss noch um { $gain }, der Trend bleibt also klar.
advice-a102-costs-unseen = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }; zwischen zwei Evaluierungen fällt der Loss nur um { $gain }, eine einzelne Evaluierung zeigt das dann nicht mehr.
advice-a105-costs = Die Kurve wird glatter, ist aber um einen konstanten Wert von etwa { $offset } verschoben; führe am Ende eine große Evaluierung durch. Dazu musst du die Evaluierung ändern: jedes Mal derselbe Seed für ihre Batches.
advice-a105-costs-unknown = Die Kurve wird glatter, ist aber um einen konstanten Wert verschoben; führe am Ende eine große Evaluierung durch. Dazu musst du die Evaluierung ändern: jedes Mal derselbe Seed für ihre Batches.
advice-a105-evidence = Jede Evaluierung zieht { $count } neue Batches. Sind es jedes Mal dieselben, rauschen Unterschiede bei gleichen Kosten 4- bis 7,6-mal weniger; dann reichen { $fewer }, um den Trend zu zeigen.
advice-a107-costs = Nur eine Änderung am Code: Jeder Rank evaluiert seinen Teil derselben Batches, und die Losses werden gemittelt.
advice-a107-evidence = Einer von { $count } Ranks evaluiert, während die anderen warten.
advice-a108-costs = Ein Absturz kann bis zu { $duration } Arbeit kosten.
advice-a108-evidence = Ein Checkpoint hält das Training { $duration } lang auf; bei einem Absturz alle { $between } ergibt Dalys Regel { $best } als bestes Intervall.
advice-a109-costs = RAM für eine Kopie des Zustands und etwas langsamere Iterationen, während sie geschrieben wird.
advice-a109-evidence = Checkpoints halten das Training während { $share } der Zeit auf.
advice-a111-costs = Speicher in zyklischen Referenzen wird erst frei, wenn du die Garbage Collection selbst aufrufst, alle paar tausend Iterationen.
advice-a111-evidence = Die Garbage Collection kostet { $share } der Zeit.
advice-a112-costs = RAM und CPU-Zeit für die Worker.
advice-a112-evidence = Das Warten auf Daten kostet { $share } der Zeit.
advice-a113-costs = Dieselben Tokens pro Iteration: batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Die Ergebnisse unterscheiden sich nur in der Rundung. Reicht der Speicher nicht, mache die Änderung rückgängig.
advice-a113-evidence = Nur { $share } des GPU-Speichers sind belegt.
advice-a114-costs = float16 braucht Loss-Scaling, das nanoGPT, Hugging Face und Lightning selbst machen; die Losses weichen leicht ab.
advice-a114-evidence = { $gpu } hat kein bfloat16 in Hardware: Es wird mit etwa einem Zehntel der Geschwindigkeit emuliert.
advise-paste = zum Kopieren: { $paste }
advise-keeps = Ändert nicht, was das Modell lernt.
advise-changes = Ändert, was das Modell lernt.
section-whatif = Was das ändern würde
whatif-change = { $setting }: { $now } → { $then }
whatif-saves = Spart { $duration } ({ $span }).
whatif-costs = Kostet { $duration } mehr ({ $span }).
whatif-same = Ändert an der Zeit nichts.
whatif-left = Noch { $duration } statt { $before } ({ $span } mit { $confidence } Wahrscheinlichkeit)
whatif-run = Ein Lauf wie dieser dauert { $duration } statt { $before }.
whatif-precision = Der Standardfehler des Validierungs-Loss ändert sich von { $before } auf { $after }.
whatif-unknown = Was { $names } an der Zeit ändern würde, lässt sich aus diesem Log nicht ablesen.
error-bad-change = --change erwartet schlüssel=wert
    .hint = zum Beispiel: --change eval_interval=1000
error-bad-change-value = { $setting } muss eine ganze Zahl ab 1 sein
    .hint = zum Beispiel: --change { $setting }=500

## Die GPU

card-mfu = { $gpu }: { $share } ihrer { $peak } TFLOPS (MFU, bezogen auf die Spitzenleistung dieser GPU).
card-normal = Das ist für diese GPU normal: Ein Modell dieser Größe sollte { $span } brauchen.
card-slow = Das ist für diese GPU langsam: Ein Modell dieser Größe sollte { $span } brauchen.
card-fast = Das ist schneller als erwartet: Ein Modell dieser Größe sollte { $span } brauchen.
alarm-hang = Ein Rank antwortet nicht mehr, die anderen haben aufgegeben: { $text }
alarm-hang-after = Ein Rank antwortet nicht mehr, nach { $duration } haben die anderen aufgegeben: { $text }
alarm-false-done = Zeile { $line } sagt, das Training sei fertig, aber die letzte Iteration ist { $step } von { $total }.
alarm-false-done-empty = { $count ->
    [one] Zeile { $line } sagt, das Training sei fertig, aber dieser Start ist vor der ersten Iteration abgestürzt.
   *[other] Zeile { $line } und insgesamt { $count } solche Zeilen sagen, das Training sei fertig, aber diese Starts sind vor der ersten Iteration abgestürzt.
  }

## Der Trainer

train-loading = PyTorch wird gestartet, die Daten werden vorbereitet …
train-progress = Iteration { $iteration } von { $last }, noch { $left }
train-doing-evaluation = Iteration { $iteration } von { $last }: Evaluierung …
train-doing-checkpoint = Iteration { $iteration } von { $last }: Checkpoint wird in den Speicher kopiert …
train-doing-compile = wird kompiliert …
train-doing-sampling = { $last } Iterationen fertig: Textprobe wird erzeugt …
train-doing-waiting = wartet, bis der letzte Checkpoint auf der Platte ist …
train-opening-what = Ein kleines GPT lernt Python aus der Standardbibliothek, in ein paar Minuten.
train-opening-when = { $iterations } Iterationen auf { $device }; alle { $interval } Evaluierung und Checkpoint in { $folder }.
train-opening-end = Am Ende: was es dann schreibt und wo die Zeit blieb. Strg-C speichert es.
train-sample-before = Was es schreibt, bevor es etwas gelernt hat:
train-sample = Was es nach { $iteration } Iterationen schreibt:
train-ledger = Wo die Zeit geblieben ist ({ $wall }, { $iterations } Iterationen):
train-phase-data = Daten holen
train-phase-forward = Forward
train-phase-backward = Backward
train-phase-optimizer = Optimizer
train-phase-device = Warten auf das Gerät
train-phase-evaluation_train = Evaluierung, Trainings-Split
train-phase-evaluation_val = Evaluierung, Validierungs-Split
train-phase-checkpoint_staging = Checkpoint: Kopie in den Speicher
train-phase-checkpoint_waiting = Checkpoint: Warten auf den Schreiber
train-phase-logging = Logging
train-phase-gc = Garbage Collection
train-phase-compile = Kompilieren
train-phase-startup = Start
train-phase-sampling = Text erzeugen
train-phase-other = Sonstiges
train-saves = { $count ->
    [one] Ein Checkpoint von { $size } MB, in { $written } im Hintergrund geschrieben; das Training stand dafür { $stalled } still.
   *[other] { $count } Checkpoints von je { $size } MB, in { $written } im Hintergrund geschrieben; das Training stand dafür { $stalled } still.
  }
train-saved-wait = Auf die Platte zu warten hätte { $saved } mehr gekostet.
train-interference = Iterationen während des Schreibens dauerten { $ratio }-mal so lange wie die anderen.
train-more = Checkpoint und Logs liegen in { $folder }. Wie es weitergeht:
train-stopped = { $signal }: vor Iteration { $iteration } angehalten und gespeichert. Fortsetzen mit: { $command }
train-no-wandb = wandb_log ist eingeschaltet, aber wandb ist nicht installiert (pip install wandb). Das Training geht weiter; seine Zahlen stehen in steps.jsonl im Ordner des Laufs.
train-no-tensorboard = tensorboard ist eingeschaltet, aber TensorBoard ist nicht installiert (pip install tensorboard). Das Training geht weiter; seine Zahlen stehen in steps.jsonl im Ordner des Laufs.
train-no-tracker = { $name } ließ sich nicht starten ({ $reason }). Das Training geht ohne { $name } weiter.
train-kept = Die Logs und der beste Checkpoint des vorigen Laufs in diesem Ordner liegen jetzt in { $folder }.
train-unknown-setting = { $setting } in { $path } ist keine Einstellung dieses Trainers und bewirkt nichts.
train-bf16-crashes = bfloat16 führt auf dieser CPU zum Absturz (in einem Kindprozess getestet): Training in float32.
train-bf16-faster = bfloat16 braucht auf dieser CPU { $ratio }-mal so lange wie float32 (in einem Kindprozess getestet): damit wird trainiert; volle Genauigkeit mit --dtype=float32.
train-bf16-slower = bfloat16 braucht auf dieser CPU { $ratio }-mal so lange wie float32 (in einem Kindprozess getestet): Training in float32.
train-cuda-only = { $dtype } gibt es nur mit CUDA: Training in float32 auf { $device }.
train-staging = Für Checkpoints liegt eine Kopie von { $size } GB im RAM, damit das Training nicht auf die Platte wartet (--staging=False wartet und kommt ohne Kopie aus).
train-staging-tight = Für Checkpoints liegt eine Kopie von { $size } GB im RAM, und nur { $left } GB sind frei. Mit --staging=False gibt es keine Kopie, und das Training wartet auf die Platte.
train-broken-checkpoint = Der Checkpoint ist unvollständig, der vorige wird versucht: { $path } ({ $reason }).
train-from-checkpoint = { $setting } ist im Checkpoint { $value }; das hat Vorrang vor { $asked }.
train-other-batches = Die Batches sind nicht die des Checkpoints (andere Größen, Evaluierung oder Prozesszahl): Die Datenreihenfolge beginnt von vorn.
train-save-failed = ALARM: Der Checkpoint von Iteration { $iteration } wurde nicht geschrieben: { $reason }. Das Training geht weiter; der vorige Checkpoint ist intakt.
data-ready = { $folder }: { $train } Tokens zum Trainieren, { $val } zum Validieren
data-use = Zum Verwenden: { $command }
data-download = { $url } wird heruntergeladen …
train-shard-alone = shard hat bei einem einzigen Prozess keine Wirkung: torchrun startet mehrere.
selftest-begins = { $count } Teile des Trainers werden auf { $device } getestet:
selftest-pass = ok
selftest-fail = FEHLER
selftest-ends = { $failed ->
    [0] Alle Teile funktionieren.
    [one] { $failed } von { $count } Teilen ist fehlgeschlagen.
   *[other] { $failed } von { $count } Teilen sind fehlgeschlagen.
}
selftest-precision = Loss { $loss } in { $dtype }, { $other } in float32
selftest-compile = Loss { $loss } kompiliert, { $other } ohne Kompilieren
selftest-memory = eine Evaluierung mit { $sequences } Sequenzen braucht { $evaluation } MB, ein Trainingsschritt { $step } MB
selftest-clock = { $steps } Iterationen ergeben zusammen { $counted } s, die Schleife dauerte { $loop } s
selftest-checkpoint = { $differing } Tensoren weichen vom Stand beim Checkpoint ab; längste Unterbrechung { $stall } s
selftest-resume = { $differing } von { $steps } Losses und { $tensors } Tensoren weichen vom ununterbrochenen Lauf ab
selftest-sample = { $tokens } Tokens, beide Male dieselben
selftest-muon = Singulärwerte eines Updates von { $least } bis { $most } in { $dtype }
selftest-processes = zwei Prozesse über { $backend }: Losses weichen von denen eines einzelnen Prozesses um bis zu { $worst } ab
selftest-shard = zwei Prozesse mit Shards über { $backend }: Losses weichen von denen eines einzelnen Prozesses um bis zu { $worst } ab
export-done = { $path }: { $size } MB, vor Iteration { $iteration }
error-train-no-slices = hier liegt kein Checkpoint in Shards
    .hint = train --shard=True schreibt einen als Ordner dieses Namens; ckpt.pt braucht keinen Export
error-train-no-torch = das Training braucht PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } erwartet einen Wert vom Typ { $wanted }
    .hint = zum Beispiel: --{ $setting }=… mit einem { $wanted }, wie in nanoGPT
error-train-choice = ungültiger Wert für { $setting }
    .hint = zur Wahl stehen: { $known }
error-train-range = { $setting } liegt außerhalb des gültigen Bereichs
    .hint = das Minimum ist { $least }; dropout, beta1 und beta2 müssen unter 1 liegen
error-train-heads = n_embd muss ein Vielfaches von n_head sein
    .hint = zum Beispiel: --n_embd=384 --n_head=6
error-train-odd-head = Rotary Embeddings brauchen Heads mit gerader Breite (n_embd / n_head)
    .hint = zum Beispiel: --n_embd=384 --n_head=6 oder --recipe=nanogpt
error-train-gpt2-recipe = die Gewichte von GPT-2 passen nur zum Netz von GPT-2
    .hint = --recipe=nanogpt
error-train-unknown-character = { $character } kommt im Korpus nicht vor
    .hint = beginne mit Zeichen, die das Netz kennt
error-train-not-saved = das Training ist zu Ende, aber sein letzter Checkpoint (Iteration { $iteration }) wurde nicht geschrieben: { $reason }
    .hint = { $saved ->
        [0] es gibt keinen Checkpoint: schaffe Platz und trainiere neu
       *[other] der neueste vollständige Checkpoint ist der von Iteration { $saved }: schaffe Platz und mach dort mit --init_from=resume weiter
      }
error-train-bad-meta = meta.pkl ist keine von nanoGPT: { $reason }
    .hint = lege sie neu an: stepscope data prepare DATEI
error-train-no-data = kein Datensatz mit diesem Namen
    .hint = lege ihn mit stepscope data prepare DATEI --out data/{ $name } an oder nenne einen Ordner mit train.bin und val.bin: --dataset=ORDNER
error-train-short-data = { $tokens } Tokens sind zu wenige für Sequenzen von { $block_size }, oder die Datei enthält keine 16-Bit-Tokens
    .hint = nimm mehr Text oder ein kleineres --block_size
error-train-unreadable = nicht lesbar: { $reason }
    .hint = prüfe Namen und Rechte
error-train-vocabulary = Token { $token } passt nicht zu einem Vokabular von { $vocab_size }
    .hint = die Daten gehören nicht zu diesem Checkpoint oder zu meta.pkl: nenne das richtige --dataset oder beginne mit --init_from=scratch
error-train-no-tiktoken = die Byte-Pair-Tokens von GPT-2 brauchen tiktoken
    .hint = { $install } oder --tokens char
error-train-tiktoken-download = tiktoken konnte die Tabellen von GPT-2 nicht herunterladen ({ $reason })
    .hint = kopiere sie von einem Rechner, der sie hat, und setze TIKTOKEN_CACHE_DIR, oder nimm --tokens char
error-train-no-stdlib = bei diesem Python fehlen die Quellen der Standardbibliothek
    .hint = bereite einen eigenen Text vor: stepscope data prepare DATEI
error-train-no-safetensors = die Gewichte von GPT-2 brauchen safetensors
    .hint = { $install }
error-train-bad-gpt2 = kein Ordner mit GPT-2-Gewichten: { $reason }
    .hint = er enthält config.json und model.safetensors, wie Hugging Face sie veröffentlicht
error-train-no-gpt2 = hier sind keine Gewichte von { $name }, und es wird nichts heruntergeladen
    .hint = hf download openai-community/{ $name } --local-dir { $name }, dann --gpt2_folder={ $name }
error-train-no-checkpoint = kein Checkpoint zum Fortsetzen
    .hint = nenne seinen Ordner mit --out_dir oder beginne mit --init_from=scratch
error-train-no-whole-checkpoint = kein vollständiger Checkpoint: { $reason }
    .hint = beginne mit --init_from=scratch oder kopiere einen vollständigen dorthin
error-train-bad-checkpoint = der Checkpoint passt nicht: { $reason }
    .hint = er muss von diesem Trainer oder von nanoGPTs train.py stammen
error-train-block-size = das geladene Netz liest höchstens { $block_size } Tokens
    .hint = --block_size={ $block_size } oder weniger
error-train-accumulation = { $processes } Prozesse können diese Zahl von Mikro-Batches nicht gleichmäßig aufteilen
    .hint = wähle für gradient_accumulation_steps ein Vielfaches von { $processes }
error-train-memory = Speicher voll
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } trainiert mit denselben Tokens und weniger Speicher; oder verkleinere block_size, n_layer oder n_embd
error-train-rank-lost = ein anderer Prozess des Laufs ist nicht mehr da: { $reason }
    .hint = sieh dir seine Ausgabe an und starte dann alle mit --init_from=resume neu
error-selftest-alone = --selftest nimmt keine Einstellungen außer --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile ist fehlgeschlagen: { $reason }
    .hint = --compile=False trainiert ohne
error-train-nan = der Loss ist { $value } bei Iteration { $iteration }: Training angehalten
    .hint = versuche es mit einer kleineren learning_rate oder mehr warmup_iters; ckpt.pt, falls vorhanden, stammt von vorher und ist in Ordnung: --init_from=resume
error-sample-no-meta = die Zeichen dieses Netzes stehen in meta.pkl seines Datenordners, und der ist nicht hier
    .hint = starte es dort, wo trainiert wurde: in dem Ordner, der data/{ $name } enthält
error-train-locked = ein anderer Trainer benutzt diesen Ordner (Prozess { $process })
    .hint = gib jedem Lauf einen eigenen Ordner: --out_dir=ORDNER
error-train-misspelt = eine Einstellung { $setting } gibt es nicht
    .hint = meintest du { $meant }?
error-train-out-dir = dort kann nicht geschrieben werden: { $reason }
    .hint = nenne einen anderen Ordner
error-train-device = dieses Gerät gibt es nicht
    .hint = --device=cpu, cuda, cuda:1 oder mps
error-train-no-device = PyTorch findet hier kein { $name }-Gerät
    .hint = --device=cpu --compile=False
error-train-config-expression = der Wert von { $setting } ließe sich nur durch Ausführen der Datei bestimmen; Config-Dateien werden gelesen, nicht ausgeführt
    .hint = schreib den Wert selbst hin oder entferne die Zeile und gib ihn als Option an: --{ $setting }=…
error-data-too-many-characters = { $count } verschiedene Zeichen sind zu viele für 16-Bit-Tokens
    .hint = --tokens gpt2
error-data-empty = kein Text darin
    .hint = nenne eine Datei mit Text; eine .jsonl-Datei hat je Zeile ein Dokument unter "text"
error-data-not-text = kein Text in UTF-8
    .hint = wandle ihn vorher um, zum Beispiel mit iconv
error-data-bad-record = kein JSON-Eintrag mit "text"
    .hint = ein Dokument je Zeile, mit dem Schlüssel text
error-data-no-download = der Download ist fehlgeschlagen: { $reason }
    .hint = besorge die Datei auf anderem Weg und nenne sie: stepscope data prepare shakespeare input.txt
error-data-openwebtext = OpenWebText ist 54 GB groß und wird hier nicht heruntergeladen
    .hint = exportiere es als .jsonl mit einem "text" je Zeile und nenne die Dateien: stepscope data prepare openwebtext part-*.jsonl

## Live

live-now = jetzt
live-left = Ende
live-steps = Iterationen
live-time = Zeit
live-loss = Loss
live-waiting = warte auf die ersten Zeilen ({ $duration })
live-warmup = startet (kompiliert, { $duration }); die Prognose folgt
live-training = trainiert, letzte Zeile vor { $duration }
live-evaluation = evaluiert seit { $duration }
live-checkpoint = speichert seit { $duration }
live-stalled = seit { $duration } keine Ausgabe: hängt der Lauf?
live-closing = alle Iterationen sind fertig; der Prozess läuft noch
live-finished = fertig
live-ended = beendet
live-usual = (üblich: { $duration })
alarm-stall = Seit { $duration } keine Ausgabe (üblich: { $usual }, Grenze: { $limit }). Sieh dir den Prozess an: stepscope attach PID
run-kept = Gespeichert in { $folder }. Vollständiger Bericht: stepscope { $folder }
run-kept-partly = { $count ->
    [one] Gespeichert in { $folder }, bis auf ein Byte der Ausgabe, für das auf der Platte kein Platz war. Vollständiger Bericht: stepscope { $folder }
   *[other] Gespeichert in { $folder }, bis auf { $count } Bytes der Ausgabe, für die auf der Platte kein Platz war. Vollständiger Bericht: stepscope { $folder }
  }
alarm-disk = Das Log lässt sich nicht mehr in { $folder } schreiben: { $reason }. Der Befehl läuft weiter, seine Ausgabe erscheint hier bis zum Ende.
alarm-recording-gone = { $folder } wurde gelöscht: Die Aufzeichnung ist verloren. Der Befehl läuft weiter, seine Ausgabe erscheint hier bis zum Ende.
error-run-not-started = der Befehl konnte nicht gestartet werden
    .hint = der Grund steht im Log daneben
error-run-no-code = der Befehl ist zu Ende, aber sein Exit-Code ist unbekannt: Die Prozesse, die ihn überwachten, wurden beendet
    .hint = das Log endet mit seiner letzten Ausgabe: stepscope { $place }
error-run-what = es fehlt der Befehl, der laufen soll
    .hint = zum Beispiel: stepscope run -- python train.py
error-needs-posix = das geht nur unter Linux und macOS
    .hint = stepscope watch train.log     folgt einem Log auf jedem System
error-needs-extra = dazu wird das Extra { $extra } gebraucht
    .hint = { $install }
error-bad-address = keine gültige Adresse für Benachrichtigungen
    .hint = zum Beispiel: --notify mailto://user:pass@example.org
error-bad-interval = --interval erwartet Sekunden, von 0.05 bis 3600
    .hint = zum Beispiel: --interval 2
error-watch-one-log = nur ein Log auf einmal
    .hint = folge dem neuesten Teil des Laufs
live-place = in { $place }
attach-log = sein Log: { $path }
attach-no-stack = Der Stack lässt sich nicht lesen ({ $reason }). Starte als derselbe Benutzer oder erlaube es: sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = Prozess nicht gefunden
    .hint = pgrep -af python     zeigt die laufenden
error-process-not-ours = dieser Prozess gehört einem anderen Benutzer
    .hint = starte es als dieser Benutzer: sudo -u BENUTZER stepscope attach { $place }
error-process-without-log = dieser Prozess schreibt auf ein Terminal oder in eine Pipe, nicht in eine Datei
    .hint = nenne sein Log: stepscope attach { $pid } --log train.log; oder starte ihn mit: stepscope run -- BEFEHL
error-bad-speed = --speed erwartet eine Zahl über 0
    .hint = zum Beispiel: --speed 50
error-replay-file = nur eine Datei kann wiedergegeben werden
    .hint = speichere sie zuerst: cat > train.log
## Ursachen

cause-accumulation = Akkumulation
cause-announced = angekündigte Arbeit
cause-async-checkpoint = asynchroner Checkpoint
cause-attention = langsame Kernels
cause-denormals = denormale Zahlen
cause-heat = Hitze
cause-interruption = Unterbrechung
cause-leak = wachsende Kosten
cause-length = längerer Batch
cause-logging = Logging
cause-memory = Speicher voll
cause-neighbour = anderes Programm
cause-optimizer = periodische Optimizer-Arbeit
cause-power = Leistungsgrenze
cause-profiler = Profiler
cause-recompile = Neukompilierung
cause-schedule = Schedule
cause-straggler = langsamer Rank
cause-c01-evidence = sie enthält eine Evaluierung von { $duration }
cause-c01-rest = die Zeile der Evaluierung meldet { $duration }; jede Evaluierung hier dauert { $rest } länger
cause-c01-beside = sie liegt neben der Zeile einer Evaluierung, wie die meisten Evaluierungen hier: { $duration } länger
cause-c01-period = sie wiederholt sich im Abstand der Evaluierungen, alle { $every } Iterationen ({ $count }-mal), obwohl keine Zeile das meldet
cause-c02-evidence = sie enthält einen Checkpoint von { $duration }
cause-c02-period = sie wiederholt sich im Abstand der Checkpoints, alle { $every } Iterationen ({ $count }-mal), obwohl keine Zeile das meldet
cause-c03-evidence = sie kommt gleich nach einem Checkpoint, und auf { $share } der { $count } Checkpoints folgen langsame Iterationen
cause-c04-evidence = sie gehört zu den ersten Iterationen des Prozesses: { $duration } für Kompilieren und erste GPU-Nutzung
cause-c05-evidence = die erste Evaluierung dauerte { $own }, die { $count } späteren { $others }
cause-c05-level = die Änderung beginnt gleich nach der ersten Evaluierung, vor Iteration { $step }
cause-c06-partial = die letzte Iteration einer Epoche mit { $count } Iterationen: Ein unvollständiger Batch hat eine andere Shape
cause-c06-fading = eine von { $count } langsamen Iterationen, die seltener werden, { $share } davon im ersten Viertel: Neue Shapes kommen immer seltener vor
cause-c06-level = die Änderung beginnt mit einer einzigen sehr langsamen Iteration, { $step } ({ $duration } länger)
cause-c08-printed = eine Zeile meldet eine Garbage Collection von { $duration }
cause-c08-evidence = { $count } Iterationen dauern alle etwa gleich viel länger, um { $duration } (± { $share }), in unregelmäßigem Abstand; das ist typisch für Pythons Garbage Collection
cause-c09-twins = langsame Iterationen wiederholen sich alle { $first } und alle { $second } Iterationen, zwei verschränkte Takte: Die Ranks erreichen das Ende eines Daten-Shards um einen Schritt versetzt
cause-c09-tokens = alle { $every } Iterationen: ein Shard von { $shard } Tokens bei { $tokens } pro Iteration
cause-c09-evidence = alle { $every } Iterationen, keine ganze Zahl, { $count }-mal: typisch für das Ende eines Daten-Shards
cause-c09-whole = alle { $every } Iterationen: vielleicht das Ende eines Daten-Shards
cause-c10-evidence = genau alle { $every } Iterationen, immer etwa { $duration } länger: geplante Arbeit des Optimizers
cause-c11-workers = der Abstand der langsamen Iterationen entspricht der Zahl der Loader-Worker, { $count }
cause-c11-evidence = alle { $every } Iterationen, unterschiedlich stark (± { $share }): typisch für ebenso viele Loader-Worker, die nicht nachkommen
cause-c12-evidence = die erste Iteration einer Epoche mit { $steps } Iterationen; { $share } der { $count } Epochen beginnen langsam
cause-c12-period = an jeder Epochengrenze, alle { $steps } Iterationen ({ $count }-mal): Die Loader-Worker starten neu
cause-c13-evidence = die Iterationen wurden früh im Lauf (bei { $done }) um { $share } schneller und blieben es; das ist typisch für Daten, die nach dem ersten Lesen im Cache liegen
cause-c14-evidence = währenddessen wurde eine Datei abgerufen, bis zur Antwort vergingen { $own }; bei den { $count } anderen sind es { $usual }
cause-c16-more = wiederholte Speicheranforderungen in ihrem Fenster: { $count }, üblich sind { $usual }
cause-c16-usual = wiederholte Speicheranforderungen in ihrem Fenster: { $count }, in den anderen aber auch { $usual }: Sie bremsen jedes Fenster, nicht nur dieses
cause-c17-full = plötzlich und dauerhaft { $change } langsamer, bei { $share } Belegung des GPU-Speichers: Speicherseiten können in den RAM ausgelagert werden
cause-c17-evidence = plötzlich und dauerhaft { $change } langsamer: unter Windows oder WSL liegt das an vollem GPU-Speicher
cause-c18-evidence = { $change } langsamer, erst zunehmend, dann gleichbleibend: typisch für eine GPU, die ihre Betriebstemperatur erreicht
cause-c18-follows = { $change } langsamer, und Evaluierungen um denselben Faktor: Alle Berechnungen wurden langsamer
cause-c19-pinned = die GPU schöpft ihre Leistungsgrenze zu { $share } aus
cause-c19-evidence = { $change } langsamer und gleichmäßig: passt zu einer Leistungs- oder Taktgrenze
cause-c20-window = { $change } langsamer, mit klarem Anfang und Ende, danach wieder auf dem alten Niveau: Vermutlich lief eine Zeit lang ein anderer Job auf dem Rechner
cause-c20-back = { $share } schneller, zurück auf einem früheren Niveau: Vermutlich hat sich ein anderes Programm auf dem Rechner beendet
cause-c20-evidence = plötzlich { $change } langsamer: Vielleicht wurde auf der GPU oder dem Rechner ein anderes Programm gestartet
cause-c20-burst = eine von { $count } langsamen Iterationen verschiedener Länge innerhalb von { $steps } Zeilen: Vielleicht nutzt noch jemand den Rechner
cause-c21-evidence = der langsamste Rank brauchte { $slowest }, der schnellste { $fastest }: Die anderen warteten auf ihn
cause-c22-evidence = eine einzelne Pause von { $duration } zwischen Iterationen von { $level }: angehalten, blockiert oder hängengeblieben
cause-c24-evidence = alle { $every } Iterationen, ein Vielfaches des Log-Intervalls von { $interval }, bei kurzen Iterationen
cause-c25-memory = { $count } Mikroschritte zu { $batch } Sequenzen pro Iteration, bei { $share } Belegung des GPU-Speichers: Ein größerer Batch mit weniger Mikroschritten würde passen
cause-c25-small = { $count } Mikroschritte zu { $batch } Sequenzen pro Iteration für ein Modell mit { $parameters } Parametern auf einer GPU: War das für acht GPUs gedacht?
cause-c26-attention = eine Warnung am Anfang des Logs meldet langsame Attention: Jede Iteration läuft ohne Fused Kernel
cause-c26-dtype = der Lauf rechnet mit 32-Bit-Gleitkommazahlen: Die Tensor Cores der GPU bleiben ungenutzt
cause-c27-evidence = sie hatte das { $factor }-Fache der üblichen Arbeit, und die Zeit folgt in diesem Lauf der Arbeit (Korrelation { $tied })
cause-c27-level = die Arbeit pro Iteration änderte sich gleichzeitig auf das { $factor }-Fache
cause-c28-evidence = die erste Iteration nach dem Fortsetzen bei { $step }: Laden, Kompilieren und Überspringen dauerten { $duration }
cause-c29-evidence = ein stetiger Anstieg um { $change } über den Lauf, der nicht abflacht; typisch für etwas, das mit jeder Iteration wächst
cause-c30-evidence = ein Anstieg auf der CPU: Zahlen nahe null sind vielleicht denormal geworden
cause-c32-evidence = eine Zeile davor meldet eine Profiler-Aufzeichnung
cause-c33-evidence = die erste Iteration nach einer Evaluierung; bei { $share } der { $count } Evaluierungen ist es ebenso
cause-c33-period = die Iteration nach einer Evaluierung ist { $count }-mal langsam, obwohl die Uhr dieses Logs Evaluierungen nicht mitzählt
cause-c34-evidence = eine Änderung um { $change } über den Lauf fast ohne Rauschen (± { $noise }): eher geplant als gewachsen
cause-c35-evidence = das Log meldet, dass sie { $duration } auf ihre Daten wartete
cause-c35-figure = sie wartete pro Iteration { $own } auf ihre Daten, sonst { $usual }
cause-c35-level = die Wartezeit auf Daten änderte sich gleichzeitig, von { $before } auf { $after } pro Iteration: { $share } der Änderung
cause-c36-evidence = sie folgt auf eine Zeile, wie sie vor { $count } Iterationen steht; { $hits } davon waren langsam
cause-c36-evaluation = Evaluierungen nach einer solchen Zeile dauern { $own }, die anderen { $others } ({ $count } davon)
level-slower = Ab Iteration { $step } sind die Iterationen um { $share } langsamer ({ $duration }).
level-faster = Ab Iteration { $step } sind die Iterationen um { $share } schneller ({ $duration }).
level-candidate = Wahrscheinlichste Ursache: { $cause } ({ $code }, { $confidence } sicher): { $evidence }.
level-others = Auch möglich: { $others }.
level-none = Das Log liefert dafür keine Erklärung.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Alle { $every } Iterationen dauert eine { $duration } länger (bisher { $count }-mal): { $cause } ({ $code }).
slow-rhythm-maybe = Alle { $every } Iterationen dauert eine { $duration } länger (bisher { $count }-mal); warum, ist nicht sicher. Am ehesten: { $candidate }.
slow-rhythm-unknown = Alle { $every } Iterationen dauert eine { $duration } länger (bisher { $count }-mal); warum, zeigt das Log nicht.
finding-line = Der ganze Lauf: { $evidence } ({ $code }).
settle-stamps = Zeitstempel in den Zeilen würden eine Pause des Rechners von einer langsamen Iteration unterscheiden: { $command }
settle-data = Stünde im Log, wie lange jede Iteration auf ihren Batch wartet, wäre klar, ob die Daten zu spät kamen.
settle-gpu = Eine nvidia-smi-Ausgabe aus dieser Zeit (hier mit --nvidia-smi DATEI) würde Temperatur, Leistung, Speicher und andere Programme zeigen.
settle-gc = Ein gc.disable() nach der ersten Iteration würde zeigen, ob es die Garbage Collection ist: Die langsamen Iterationen würden verschwinden.
settle-ranks = Die Logs aller Ranks würden zeigen, auf welchen die anderen gewartet haben.
settle-events = { $count } langsame Iterationen dauern gleich lang, aber ihr Abstand lässt sich noch nicht bestimmen: Dafür sind etwa { $enough } nötig.
why-title = Iteration { $step }
why-took = Sie dauerte { $duration }; eine normale Iteration in ihrer Nähe dauert { $level }.
why-window = Ihre Zeile umfasst { $count } Iterationen: { $duration } insgesamt, je { $mean }; eine normale in der Nähe dauert { $level }.
why-normal = Das ist normal: 90 % dauern { $span }.
why-raised = Das ist länger als bei den Nachbarn, aber nicht so viel, dass sie als langsam gilt.
why-made-of = Sie besteht aus: { $parts }.
why-cause = Ursache: { $cause } ({ $code }, { $confidence } sicher): { $evidence }.
why-unexplained = Ungeklärt: Kein Beleg in diesem Log reicht aus, um die zusätzlichen { $duration } zu erklären.
why-lines = Belege im Log:
why-considered = Auch erwogen:
why-candidate = { $code } { $cause }, { $confidence }: { $evidence }
why-turned-down = Ausgeschlossen:
why-not-marker = keine Zeile davor meldet eine Evaluierung, einen Checkpoint, eine Garbage Collection oder ein Warten
why-not-first = sie gehört nicht zu den ersten Iterationen ihres Prozesses
why-not-period = sie wiederholt sich nicht in festem Abstand
why-not-epoch = sie liegt nicht an einer Epochengrenze
why-not-data = die ausgegebene Wartezeit auf Daten ist dort normal
why-not-work = sie hatte nicht mehr Arbeit als andere
why-not-save = kurz davor gibt es keinen Checkpoint
why-not-pause = sie ist zu kurz für einen angehaltenen Rechner
why-periodic = Sie wiederholt sich alle { $every } Iterationen, { $count }-mal in diesem Log.
why-neighbours = Benachbarte Iterationen: { $items }.
why-neighbour = { $step }: { $duration }
why-settle = So findest du es heraus:
why-unprinted = Iteration { $step } hat keine eigene Zeile. Die nächsten:
why-unprinted-normal = Iterationen ohne Zeile gelten als normal: je { $level }.
why-inside = Iteration { $step } gehört zu denen, die die Zeile von Iteration { $line_step } umfasst.
why-no-time = Die Zeile von Iteration { $step } hat keine Zeit.
why-page = Mehr dazu: stepscope doc { $code }
error-no-such-step = im Log gibt es keine Iteration { $step }
    .hint = es enthält die Iterationen { $first } bis { $last }
error-bad-step = die Iteration muss eine ganze Zahl sein
    .hint = zum Beispiel: stepscope why train.log 500
alarm-files-order = { $by ->
    [stamps] Die Dateien wurden in der Reihenfolge ihrer Zeitstempel gelesen: { $paths }
   *[other] Die Dateien wurden in der Reihenfolge ihrer Iterationen gelesen: { $paths }
  }
alarm-files-repeated = { $count ->
    [one] Diese Datei enthält dieselben Zeilen wie eine andere und wurde weggelassen: { $paths }
   *[other] Diese Dateien enthalten dieselben Zeilen wie andere und wurden weggelassen: { $paths }
  }
## Logs in unbekanntem Format

section-inferred = Wie dieses Log gelesen wurde
inferred-intro = Kein bekanntes Format passt zu diesem Log; es wurde anhand seines Aufbaus gelesen ({ $confidence } sicher):
inferred-item = { $text } ({ $confidence } sicher)
inferred-teach = Zum Korrigieren: stepscope formats try { $path } --suggest > my.toml, my.toml ändern und --format-file my.toml angeben
infer-step = „{ $text }“ wird als Iteration gelesen: eine ganze Zahl, die von Zeile zu Zeile wächst.
infer-step-epoch = „{ $epoch }“ wird als Epoche gelesen und „{ $batch }“ als Iteration darin: Sie beginnt mit jeder Epoche von vorn.
infer-step-is-epoch = „{ $text }“ wird als Iteration gelesen: Es zählt die Epochen.
infer-step-word = „{ $text }“ wird als Iteration gelesen.
infer-time-mean = „{ $text }“ wird als Mittel seit der ersten Iteration gelesen, in { $unit }: Es fällt von Zeile zu Zeile, während die Summe wächst; die einzelnen Iterationen sind daraus errechnet.
infer-time-none = Keine Zahl in diesen Zeilen ließ sich als Zeit erkennen.
infer-time-stamps = Die Zeiten sind die Abstände zwischen den Zeitstempeln der Zeilen.
infer-time-of-all = Ausgegeben ist nur, dass das Ganze { $total } gedauert hat: Jede Iteration bekommt den Mittelwert davon, mit allem, was dazwischen lag.
infer-time-step = „{ $text }“ wird als Zeit einer Iteration gelesen, in { $unit }.
infer-time-total = „{ $text }“ wird als Zeit aller Iterationen seit der vorigen Zeile gelesen, in { $unit }.
infer-time-clock = „{ $text }“ wird als Uhr gelesen, die von Zeile zu Zeile weiterläuft, in { $unit }.
infer-time-rate = „{ $text }“ wird als Iterationen pro Sekunde gelesen.
infer-time-work = „{ $text }“ wird als Arbeit pro Sekunde gelesen und „{ $amount }“ als Arbeit pro Iteration.
infer-because-stamps = Das passt zu den Zeitstempeln.
infer-because-clock = Das passt zur laufenden Uhr in derselben Zeile.
infer-because-rate = Das passt zur Rate in derselben Zeile.
infer-because-left = Das passt zur Restzeit, die die Zeile nennt.
infer-because-total = In der Summe ergibt das die Gesamtzeit, die am Ende des Logs steht.
infer-because-growth = Der Wert wächst je Iteration um gleich viel, wie eine Uhr.
infer-because-spacing = Zeilen, die mehr oder weniger Iterationen umfassen als die anderen, bestätigen es.
infer-because-meter = Der Mittelwert folgt in Klammern, wie bei einer Anzeige, die bei jeder Iteration aktualisiert wird.
infer-because-amounts = Mit einer kürzeren Einheit würden die anderen Zähler der Zeile schneller wachsen, als es ein Rechner schafft.
infer-because-unit = Die Einheit ist angegeben; sonst bestätigt es nichts im Log.
infer-because-name = Der Name deutet darauf hin; dass die Zahl Sekunden zählt, bestätigt nichts im Log.
infer-because-size = Eine Einheit fehlt; bei dieser Größenordnung sind Sekunden am wahrscheinlichsten.
infer-total = „{ $text }“ wird als Zahl der Iterationen gelesen.
infer-batches = „{ $text }“ wird als Zahl der Iterationen pro Epoche gelesen.
infer-evaluation = Zeilen wie „{ $text }“ werden als Evaluierungen gelesen.
infer-checkpoint = Zeilen wie „{ $text }“ werden als Checkpoints gelesen.
infer-step-counted = Zeilen wie „{ $text }“ haben keine Nummer: Jede zählt als eine Iteration.
infer-step-bar = Der Balken „{ $text }“ wird als der des Trainings gelesen: Seine Zeilen sind die Iterationen.
infer-time-bar = Die Zeiten stammen von der Uhr auf dem Balken, in ganzen Sekunden; die Rate daneben ist geglättet und wird nicht verwendet.
infer-bars-are-epochs = Der Balken beginnt { $count }-mal; jeder wird als eine Epoche gelesen.
infer-step-batch = „{ $text }“ wird als Batch innerhalb einer Epoche gelesen; der Zähler beginnt { $count }-mal, jeder Durchgang wird als Epoche gelesen.
infer-doubt-interval = „{ $text }“ kann die Zeit einer Iteration sein oder die aller { $count } seit der vorigen Zeile (je { $each }). Nichts im Log zeigt, welche, deshalb wurden keine Zeiten gelesen.
infer-doubt-unit = „{ $text }“ hat keine Einheit und kann die Zeit einer Iteration oder mehrerer sein ({ $count } seit der vorigen Zeile). Nichts im Log zeigt, welche, deshalb wurden keine Zeiten gelesen.

## Läufe vergleichen

compare-slower = Der zweite Lauf braucht { $share } länger: { $before } → { $after } { $unit }.
compare-faster = Der zweite Lauf braucht { $share } weniger Zeit: { $before } → { $after } { $unit }.
compare-same = Beide Läufe brauchen gleich lang: { $before } { $unit }.
compare-span = { $low } bis { $high }
compare-most = { $share } des Unterschieds entfallen auf: { $phase }.
compare-most-offset = Größter Unterschied: { $phase }; andere Phasen gleichen einen Teil davon aus.
compare-real = Eine normale Iteration weicht um { $low } bis { $high } ab (mit { $confidence } Wahrscheinlichkeit): mehr als Rauschen.
compare-noise = Eine normale Iteration weicht um { $low } bis { $high } ab (mit { $confidence } Wahrscheinlichkeit): Das kann Rauschen sein.
compare-even-real = Eine normale Iteration weicht um { $change } ab: mehr als Rauschen.
compare-even-noise = Eine normale Iteration weicht um { $change } ab: Das kann Rauschen sein.
compare-too-few = Zu wenige normale Iterationen, um zu sagen, ob der Unterschied mehr als Rauschen ist.
compare-unit-steps = pro 1.000 Iterationen
compare-unit-tokens = pro Million Tokens
compare-settings-same = Die Einstellungen sind dieselben, soweit die Logs sie zeigen.
compare-settings = Einstellungen, die sich unterscheiden: { $settings }
compare-no-times = { $path }: keine Iteration mit Zeit zum Vergleichen.
compare-no-tokens = Nicht jedes Log nennt seine Tokens: nach Iterationen verglichen.
error-compare-needs-two = compare braucht mindestens zwei Logs
    .hint = zum Beispiel: stepscope compare old.log new.log

## Die Seite

page-strip-hint = Ziehen vergrößert, Doppelklick zeigt alles; ein Klick hält die Werte fest, mit dem Link zur Zeile des Logs. Ist der Verlauf ausgewählt: + und − oder das Mausrad zoomen, Pfeiltasten verschieben, N und P gehen von einem Stopp zum nächsten, Pos1 zeigt alles.
page-whatif = Was wäre, wenn

## Die Web-App

web-all-runs = alle Läufe
web-compare = Vergleichen
web-no-runs = Kein Trainings-Log unter diesem Ordner.
web-paste = Ein anderes Log
web-paste-hint = Füge hier Zeilen eines Logs ein oder zieh eine Datei auf diese Seite. Der Inhalt bleibt im RAM und wird nicht gespeichert.
web-explain = Erklären
serve-hint = Drücke Strg-C zum Beenden. Der Link enthält dein Zugriffstoken.
error-serve-needs-token = für den Zugriff von anderen Rechnern ist ein eigenes Token nötig
    .hint = zum Beispiel: openssl rand -hex 16 > token.txt, dann --host 0.0.0.0 --token-file token.txt
error-bad-token = kein gültiges Token
    .hint = ein Wort aus Buchstaben und Ziffern, zum Beispiel: openssl rand -hex 16 > token.txt
error-bad-allow-host = kein gültiger Rechnername und keine gültige Adresse
    .hint = zum Beispiel: --allow-host logs.example.com oder --allow-host localhost:9000
error-bad-port = kein gültiger Port
    .hint = zum Beispiel: --port 8000
error-cannot-listen = auf dieser Adresse lässt sich kein Port öffnen: { $reason }
    .hint = wähle einen anderen Port oder lass die Angabe weg, dann wird ein freier genommen
alarm-unexplained = Zwischen den Iterationen { $before } und { $step } vergingen { $duration } ohne Erklärung im Log.
clocks-differ = Die Zeitstempel umfassen { $stamps }, die ausgegebenen Zeiten { $printed }: Darin fehlen { $rest }.
## Formate, die man beibringt

formats-words = Eine Zeile wird geprüft, wenn sie eines dieser Wörter enthält: { $words }.
formats-try-gave-up = aufgegeben in Zeile { $line }, Spalte { $column }:
formats-try-others = { $count ->
    [one] Zu einem weiteren Format passt keine Zeile.
   *[other] Zu { $count } weiteren Formaten passt keine Zeile.
  }
formats-try-account = { $name }: { $share } der Belege, { $steps } Iterationen, { $seconds }, { $unread } Zeilen bleiben übrig
formats-try-behind = { $steps ->
    [one] { $name }: { $share } der Belege, eine Zeile mit einer Iteration; nicht weiter probiert
   *[other] { $name }: { $share } der Belege, { $steps } Zeilen mit Iterationen; nicht weiter probiert
  }
formats-try-read-as = Gelesen als { $name }: { $steps } Iterationen.
suggest-what = Eine Formatdatei für Stepscope, erzeugt aus dem Aufbau von { $path }.
suggest-where = In { $folder } speichern oder angeben: stepscope { $path } --format-file DATEI
suggest-groups = Benannte Gruppen sind Werte: step oder epoch und batch, total, loss; eine Zeit ist dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers ist step, window (ein Mittel), cumulative oder stamp; figure_is_total = true, wenn die Zeit die aller Iterationen seit der vorigen Zeile ist.
suggest-none = Nichts in dieser Datei zählt Iterationen: Was folgt, ist eine Vorlage zum Ausfüllen.
error-suggest-needs-file = --suggest braucht try und eine Datei
    .hint = stepscope formats try run.log --suggest > mine.toml
error-no-such-format-file = die Formatdatei lässt sich nicht lesen: { $reason }
    .hint = stepscope formats try run.log --suggest > mine.toml     schreibt eine
error-format-file-too-large = zu groß für eine Formatdatei
    .hint = ist das das Log? Dann lass --format-file weg
error-format-file-not-text = die Formatdatei ist kein UTF-8-Text
    .hint = speichere sie als UTF-8
error-format-file-syntax = die Formatdatei ist kein TOML: { $reason }
    .hint = ein Muster steht in einfachen Anführungszeichen: pattern = '…'
error-format-key-missing = { $field } fehlt
    .hint = stepscope formats try run.log --suggest     schreibt eine Datei mit allem Nötigen
error-format-key-unknown = unbekannter Schlüssel { $field }
    .hint = zur Wahl stehen: { $known }
error-format-key-type = { $field } hat einen Wert vom falschen Typ
    .hint = erwartet: { $wanted }
error-format-bad-value = { $value } ist kein gültiger Wert für { $field }
    .hint = zur Wahl stehen: { $known }
error-format-bad-pattern = das Muster ist kein gültiger regulärer Ausdruck: { $reason }
    .hint = ein Sonderzeichen, das wörtlich gemeint ist, braucht einen Backslash: \[ \( \. \|
error-format-slow-pattern = das Muster passt auf manche Zeilen auf zu viele Arten und wird vielleicht nie fertig
    .hint = begrenze eine der Wiederholungen, etwa { $example } statt + oder *, oder trenne sie: \S+ \S+ statt .+ .+
error-format-unknown-group = unbekannter Wert { $group }
    .hint = zur Wahl stehen: { $known }
error-format-sample-missed = das Muster scheitert in Spalte { $column } seines Beispiels: { $text }
    .hint = ändere das Muster oder das Beispiel
error-format-no-step = keine Zeile ist von der Art step
    .hint = ein [[lines]] braucht kind = 'step' und ein Muster mit (?P<step>\d+)
error-broken-plugin = das Format { $name } eines anderen Pakets lässt sich nicht laden: { $reason }
    .hint = repariere oder entferne dieses Paket

## Von innen gesehen

inside-line = Im Prozess gemessen: { $items }.
inside-evaluation = { $count } × Evaluierung { $duration }
inside-checkpoint = { $count } × Checkpoint { $duration }
inside-data = { $count } × Warten auf Daten { $duration } (am längsten { $longest })
inside-gc = { $count } × Garbage Collection { $duration } (am längsten { $longest })
inside-compile = { $count } × Kompilieren { $duration }
inside-optimizer = { $count } × Optimizer-Schritt { $duration }
inside-retry = { $count } × Speicheranforderung wiederholt
inside-step = { $count } × Iteration { $duration } (am längsten { $longest })
inside-fetch = { $count } × Batch laden { $duration } (am längsten { $longest })
inside-logging = { $count } × Logging { $duration }
inside-other = { $count } × { $kind } { $duration } (am längsten { $longest })
## Prognose

assume-like = { $count ->
    [one] Der Rest ist nach einem früheren Lauf desselben Programms geschätzt, { $path }, im Tempo dieses Laufs.
   *[other] Der Rest ist nach { $count } früheren Läufen desselben Programms geschätzt, etwa { $path }, im Tempo dieses Laufs.
}
assume-passes = Die jetzige Verlangsamung ist neu: Angenommen ist, dass sie noch etwa so lange anhält, wie sie schon dauert.
finish-ask = Sieh nach Iteration { $step } noch einmal nach, in etwa { $duration }.
finish-ask-step = Sieh nach Iteration { $step } noch einmal nach.
deadline-chance = Frist: { $time }. Wahrscheinlichkeit, rechtzeitig fertig zu sein: { $share }.
deadline-sure = Frist: { $time }. So gut wie sicher rechtzeitig fertig.
deadline-hardly = Frist: { $time }. Rechtzeitig kaum zu schaffen.
error-bad-deadline = keine gültige Zeitangabe: { $text }
    .hint = zum Beispiel: --deadline 08:00, --deadline 2025-11-15T08:00 oder Unix-Sekunden
error-like-format = das Log ist von einem anderen Trainer: { $its }, nicht { $own }
    .hint = --like braucht ein vollständiges Log desselben Programms
error-like-short = der frühere Lauf endet bei Iteration { $last }, vor den { $total } dieses Laufs
    .hint = --like braucht ein vollständiges Log desselben Programms

advice-a106-costs = Dieselben Sequenzen in { $batches } Batches zu { $size }. Dazu musst du die Evaluierung ändern.
advice-a106-evidence = Eine Evaluierung rechnet { $batches } Batches zu { $size }, und im GPU-Speicher ist noch Platz für größere.
advice-a110-costs = Plattenplatz für den Cache.
advice-a110-evidence = Der Lauf wurde { $count }-mal gestartet; das Warm-up dauerte zusammen { $duration }.
advice-a115-costs = Der Loss wird nur alle { $count } Iterationen ausgegeben.
advice-a115-evidence = Jede Iteration von { $duration } wartet, bis ihr Loss geholt und ausgegeben ist.
advice-a116-costs = Ein neueres PyTorch; die Ergebnisse unterscheiden sich nur in der Rundung.
advice-a116-evidence = Der Trainer meldet beim Start, dass die Attention nicht fused ist.

## Page, app and other tools

error-binary-to-terminal = eine { $name }-Datei lässt sich nicht im Terminal anzeigen
    .hint = schreibe sie in eine Datei: -o bericht.{ $name }
## Rat: Genauigkeit, Annahmen, Checkpoints und Platte

precision-same = Der Standardfehler des Validierungs-Loss bleibt { $error }.
precision-same-seen = Der Standardfehler des Validierungs-Loss bleibt { $error }; zwischen zwei Evaluierungen fällt der Loss um etwa { $gain }, der Trend bleibt also klar.
precision-same-unseen = Der Standardfehler des Validierungs-Loss bleibt { $error }; zwischen zwei Evaluierungen fällt der Loss um etwa { $gain }, zu wenig, um es an einer einzelnen zu sehen.
advise-rounding = Dasselbe Training bis auf die Rundung.
advise-draws = Dasselbe Training bis auf andere zufällige Batches.
advise-assumed = Angenommen, aus veröffentlichten Fällen: { $cases }
change-frees = { $change }: gibt { $size } GB Plattenplatz frei
change-together = Alle zusammen sparen etwa { $duration }: { $after } statt { $before }.
change-eval-interval = alle { $proposed } statt alle { $now } Iterationen evaluieren
change-checkpoint-interval = alle { $proposed } statt alle { $now } Iterationen speichern
change-log-interval = alle { $proposed } statt alle { $now } Iterationen ausgeben
change-eval-iters = { $proposed } statt { $now } Batches pro Evaluierung
change-none-few = Keine lohnende Änderung: Evaluierungen und Checkpoints kosten { $share } der Zeit, sind aber schon so selten, dass sich keine einsparen lassen.
change-none-seen = Keine lohnende Änderung: Das Log zeigt keine Evaluierungen und keine anderen vermeidbaren Kosten.
change-no-steps = Keine Empfehlung: Es ließen sich keine Iterationszeiten lesen.
advice-a101-costs-seen = Evaluiert wird nur noch jedes { $factor }. Mal.
advice-a102-costs-flat = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }. Der Loss fällt zwischen zwei Evaluierungen nicht mehr: Auch mehr Batches würden keinen Fortschritt zeigen.
advice-a104-change = nur speichern, wenn der Validierungs-Loss besser wird
advice-a105-change = jedes Mal dieselben Evaluierungs-Batches, { $proposed } statt { $now }
advice-a105-precision = Der Fehler eines Unterschieds zwischen zwei Evaluierungen ändert sich von { $before } auf { $after } oder weniger.
advice-a106-costs-plain = Dieselben Sequenzen in Batches zu { $size }. Reicht der Speicher nicht, mache die Änderung rückgängig.
advice-a106-evidence-plain = Evaluiert wird in Batches zu { $size }, und im GPU-Speicher ist noch Platz für größere.
advice-a106-change = Evaluierungs-Batches zu { $proposed } statt { $now }
advice-a106-assumed = 2- bis 10-mal so große Batches brauchten auf einer CPU das 0,84- bis 1,12-Fache der Zeit; eine GPU, die zwischen Kernels wartet, gewinnt bis zu einem Drittel.
advice-a107-change = auf allen { $count } Ranks evaluieren statt auf einem
advice-a107-assumed = Auf vier GPUs ging eine Iteration mit Evaluierung von 20,5 auf 8,7 s (nanoGPT-Issue 673).
advice-a108-costs-shorter = Mehr Checkpoints; dafür kostet ein Absturz höchstens { $duration } Arbeit.
advice-a108-evidence-accepted = Ein Checkpoint hält das Training { $duration } lang auf. Bei einem Absturz alle { $between } ergibt Dalys Regel { $best } als bestes Intervall; { $accepted } Verlust nimmst du hin.
advice-a109-change = Checkpoints asynchron speichern
advice-a109-assumed = Aus 27,3 s wurden 0,54 s bei einem 8B-Modell auf acht H100 (NeMo-Automodel-Issue 635); auf einer CPU blieben 16 % der Wartezeit.
advice-a110-change = den Compile-Cache zwischen den Starts behalten
advice-a110-assumed = Mit warmem Cache dauerte nanoGPTs erste Iteration auf einer CPU 2,3 statt 26 s; Laden und erste Nutzung bleiben.
advice-a111-change = die Garbage Collection selbst aufrufen, alle paar tausend Iterationen
advice-a112-change = { $count } dauerhaft laufende Loader-Worker mit Prefetch
advice-a112-change-prefetch = den nächsten Shard in einem Thread vorauslesen
advice-a112-assumed = Aus 0,217 s Warten pro Iteration wurden mit mehr Workern 0,003 s; wo Platte oder Netz langsam sind, ändert sich nichts.
advice-a113-assumed = nichts auf einer GPU, die schon ausgelastet ist, bis zu einem Zehntel auf einer, die zwischen Kernels wartet; stepscope plan rechnet es für ein gegebenes Modell aus.
advice-a114-assumed = Eine V100 multipliziert Matrizen mit 9,9 TFLOPS in bfloat16 und mit 100 und mehr in float16 (öffentliche Tabellen).
advice-a115-assumed = nanoGPTs Zeile kostet auf einer CPU 0,3 ms, nichts, wo die Schleife ohnehin auf die GPU wartet, und einige Millisekunden mit einem Metrik-Client.
advice-a116-change = Fused Attention
advice-a116-assumed = GPT-2 auf einer A100 ging von 130 auf 96 ms pro Iteration; kurze Kontexte gewinnen weniger, lange mehr.
advice-a117-change = Fused AdamW
advice-a117-costs = Kein zusätzlicher Speicher; die Summen werden in anderer Reihenfolge gerundet. Braucht PyTorch 2.0 auf CUDA, 2.4 auf einer CPU.
advice-a117-evidence = Der Trainer meldet beim Start, dass sein Optimizer nicht fused ist.
advice-a117-assumed = 3 % bei GPT-2 auf einer A100 (93 auf 90 ms), 0 bis 8 % bei kleinen Modellen auf einer CPU.
advice-a118-change = die letzten { $count } Checkpoints behalten
advice-a118-costs = Zurück kannst du nur zu den letzten { $count }; kopiere woandershin, was du behalten willst.
advice-a118-evidence = { $count } Checkpoints zu je etwa { $each } GB, und dieser Trainer behält alle: { $total } GB am Ende.
advice-a122-change = beim besten Validierungs-Loss aufhören (Iteration { $step })
advice-a122-change-now = jetzt aufhören: Der Validierungs-Loss war bei Iteration { $step } am besten
advice-a122-costs = Du nimmst den Checkpoint der besten Iteration, nicht den letzten; speichere einen, wann immer der Validierungs-Loss sinkt.
advice-a122-evidence = Der Validierungs-Loss war bei Iteration { $step } am niedrigsten ({ $loss }); die { $count } Evaluierungen danach sind schlechter.
safety-now = Zwischen zwei Checkpoints (alle { $interval } Iterationen) stehen bis zu { $stake } Arbeit auf dem Spiel.
safety-within = Das liegt in dem Rahmen, den du hinnimmst ({ $accepted }).
safety-beyond = Du nimmst { $accepted } Verlust hin: Speichere mindestens alle { $needed } Iterationen einen Checkpoint.
safety-best = Bei { $stall } Wartezeit pro Checkpoint und den bisherigen Neustarts geht nach Dalys Regel am wenigsten verloren, wenn alle { $best } Iterationen ein Checkpoint kommt.
disk-one = Dieser Trainer überschreibt ihn jedes Mal.
disk-all = Dieser Trainer behält alle: { $count } am Ende, { $total } GB.
error-bad-may-lose = --may-lose erwartet eine Dauer
    .hint = zum Beispiel: --may-lose 10min, 90s oder 1h30m
error-change-twice = { $setting } wird zweimal geändert
    .hint = gib einen Wert dafür an
error-unknown-change = unbekannte Einstellung
    .hint = meintest du { $known }?

disk-each = Ein Checkpoint belegt etwa { $each } GB auf der Platte.
disk-some = Dieser Trainer behält die letzten { $count }: { $total } GB.

error-bad-change-switch = { $setting } muss True oder False sein
    .hint = zum Beispiel: --change { $setting }=False

whatif-past = Der Lauf ist schon bei Iteration { $step }, über { $total } hinaus: Er wäre fertig.

## Die GPU

card-size-unknown = Sind { $duration } auf der { $gpu } normal? Bei einem Modell mit { $low } bis { $high } M Parametern ja. Die Modellgröße steht nicht im Log; gib sie für eine Einschätzung an: --set parameters=124M.
page-zoom-in = Vergrößern
page-zoom-out = Verkleinern
page-zoom-left = Nach links
page-zoom-right = Nach rechts
page-zoom-all = Alles zeigen
page-normal = normale Iteration
page-level = Niveau normaler Iterationen
page-tip = Iteration { $step }: { $took }
page-validation = Validierungs-Loss
page-fan = Iterationen über der Zeit: bisher, Prognose und frühere Prognosen
page-fan-past = bisher
page-fan-ahead = Prognose
page-fan-earlier = frühere Prognosen
section-backtest = Frühere Prognosen im Rückblick
backtest-column-at = nach
backtest-column-said = Prognose
backtest-column-range = Spanne
backtest-column-took = tatsächlich
backtest-column-off = Abweichung
backtest-at = { $share }, Iteration { $step }
backtest-summary = { $count ->
    [one] Die Prognose der Zeit bis Iteration { $step }, neu berechnet aus dem damaligen Log. Tatsächliche Zeiten in der Spanne: { $held } von 1.
   *[other] Prognosen der Zeit bis Iteration { $step }, neu berechnet aus dem jeweils damaligen Log. Tatsächliche Zeiten in der Spanne: { $held } von { $count }.
}
page-tokens-rate = Tokens pro Sekunde, einschließlich Evaluierungen und Checkpoints
page-steps-rate = Iterationen pro Sekunde, einschließlich Evaluierungen und Checkpoints
page-gpu = GPU
page-gpu-load = Auslastung
page-gpu-memory = Speicher
page-gpu-power = Leistung
page-gpu-temperature = Temperatur
cards-line = { $gpu }, { $count } Messungen: { $items }.
cards-load = im Mittel zu { $share } ausgelastet
cards-memory = höchstens { $used } von { $total } GiB
cards-power = { $mean } W im Mittel, höchstens { $most } W
cards-temperature = bis { $degrees } °C
page-whatif-left = noch { $duration }{ $range }
page-whatif-done = Ende: { $time }
page-whatif-less = { $duration } weniger als jetzt
page-whatif-more = { $duration } mehr als jetzt
page-whatif-evaluations = verbleibende Evaluierungen: { $number }
page-whatif-error = Validierungs-Loss ± { $error }
## Was die GPU währenddessen sagt

gpu-power-of = { $power } von { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } von { $most } MHz
gpu-held = gebremst durch { $reasons }
gpu-others = { $count ->
    [one] ein anderer Prozess darauf: { $names }
   *[other] { $count } andere Prozesse darauf: { $names }
}
throttle-power_cap = ihre Leistungsgrenze
throttle-thermal = Hitze
throttle-hw_slowdown = den Hardwareschutz
throttle-power_brake = das Netzteil
throttle-sync_boost = die langsamste GPU ihrer Gruppe
live-gpu = GPU
alarm-near-oom = { $used } von { $total } GiB GPU-Speicher sind belegt: Dem Lauf geht bald der Speicher aus. Ein kleinerer Batch mit mehr Akkumulation braucht weniger.
alarm-slowdown-thermal = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, seitdem { $after }. Die GPU senkt ihren Takt, weil sie zu heiß ist: Prüfe Lüfter, Staub und Luftzufuhr.
alarm-slowdown-power = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, seitdem { $after }. Die GPU ist an ihrer Leistungsgrenze: siehe nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, seitdem { $after }. Auf der GPU läuft ein weiterer Prozess: nvidia-smi zeigt, welcher.
alarm-slowdown-memory = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, seitdem { $after }. Der GPU-Speicher ist voll, und was nicht hineinpasst, wandert womöglich in den RAM: Ein kleinerer Batch hilft.
alarm-finished = Der Lauf ist fertig: Iteration { $step }.
notify-failed = { $count ->
    [one] Eine Benachrichtigung ließ sich nicht senden; prüfe die Adresse von --notify.
   *[other] { $count } Benachrichtigungen ließen sich nicht senden; prüfe die Adresse von --notify.
}
live-log = Log
live-next = nächste
live-advice = Tipp
live-next-evaluation = Evaluierung bei Iteration { $step }, in { $duration }
live-chart-steps = Zeit pro Iteration
live-chart-loss = Loss { $loss }
live-chart-losses = Loss { $loss } · ● Validierung { $val }
live-gpu-load = GPU-Auslastung
live-gpu-memory = GPU-Speicher

## Der Plan, GPU für GPU

plan-title-asked = Wie eingestellt
plan-title-proposed = Empfohlene Einstellungen
plan-now = jetzt
plan-row-evaluations = Evaluierungen
plan-row-saved = gespart
plan-keeps = Dieselben Tokens pro Iteration: dasselbe Training bis auf Rundung und zufällige Batches. Mit weniger Evaluierungs-Batches wird der Validierungs-Loss ungenauer. --write ORDNER schreibt je GPU eine Config-Datei.
plan-keeps-not = Dieselben Tokens pro Iteration, aber float16, wo die GPU kein bfloat16 hat; das ändert das Training leicht. --write ORDNER schreibt je GPU eine Config-Datei.
plan-note-from = Kalibriert mit dem Log: { $duration } pro Iteration auf { $gpu }.

plan-row-sequences = Sequenzen pro Evaluierung
plan-memory-other = Sonstiges, gemessen
plan-model-derived = { $low } bis { $high } M Parameter, geschätzt; gerechnet mit { $parameters }: { $layers } Schichten × { $hidden }, Kontext { $context }, Vokabular { $vocabulary }

## Rat: Kompilieren, Datentypen, Shards

change-scope-rest-one = Ersparnis für den Rest dieses Laufs.
change-scope-run-one = Ersparnis bei einem Lauf wie diesem.
disk-each-span = Ein Checkpoint belegt etwa { $each } GB auf der Platte ({ $low } bis { $high }).
advice-a112-costs-prefetch = RAM für einen weiteren Shard.
advice-a112-assumed-prefetch = modded-nanogpt liest den nächsten Shard seit seinem Rekord 33 in einem Thread; davor kostete jede Grenze 160 bis 200 ms.
advice-a119-costs = Die erste Iteration dauert etwa { $duration } länger. Probiere es mit hundert Iterationen: Ein kleines Modell gewinnt vielleicht nichts.
advice-a119-evidence = Laut Einstellungen wird das Modell nicht kompiliert.
advice-a119-assumed = GPT-2 auf einer A100 ging von 250 auf 135 ms pro Iteration (README von nanoGPT); ein kleines Modell auf einer RTX 3080 von 44 auf 48.
advice-a120-change = konstante Shapes: den unvollständigen Batch weglassen oder auffüllen
advice-a120-costs = Auf den Sequenzen des unvollständigen Batches wird nicht trainiert, oder das Auffüllen kostet Rechenzeit.
advice-a120-evidence = { $count } Iterationen von zusammen { $duration } sehen nach Neukompilierungen aus, { $share } der Zeit.
advice-a121-costs = Gemischte Genauigkeit: Die Gewichte bleiben in float32, Produkte werden auf 16 Bit gerundet; die Losses weichen leicht ab.
advice-a121-evidence = { $gpu } multipliziert 16-Bit-Zahlen um ein Vielfaches schneller als 32-Bit-Zahlen, und dieser Lauf rechnet in float32.
advice-a121-assumed = GPT-2 auf einer A100 brauchte 1.000 ms pro Iteration in float32, 333 mit TF32, 300 mit bfloat16.
inside-skipped = Nicht instrumentiert, weil diese Version es nicht unterstützt: { $names }.
split-trace = Evaluierung und Checkpoint wurden im Prozess gemessen.
compare-title = Läufe nebeneinander
compare-section-each = Kosten im Einzelnen
compare-section-why = Was den Unterschied erklärt: { $first } → { $other }
compare-section-settings = Einstellungen, die sich unterscheiden
compare-row-typical = normale Iteration
compare-row-evaluation-each = eine Evaluierung
compare-row-checkpoint-each = ein Checkpoint
compare-row-warmup = Warm-up insgesamt
compare-row-stall = ungeklärt insgesamt
compare-row-wall = das ganze Log
web-runs = Die Läufe unter diesem Ordner
web-choose = Vergleichen
web-failed = Keine Antwort vom Server: läuft er noch?

change-eval-epochs = alle { $proposed } Epochen evaluieren (jetzt: { $now })

error-plan-from-impossible = so schnell kann { $gpu } nicht sein: Mit diesem Modell würden die Iterationen des Logs { $share } ihrer Spitzenleistung erreichen
    .hint = prüfe --params, --context, --from-gpu sowie batch_size und gradient_accumulation_steps

advice-a108-costs-unseen = Ein Absturz kann bis zu { $duration } Arbeit kosten. Bisher gab es keinen; angenommen ist einer pro Woche.

warning-unknown-card = Warnung: unbekannte GPU { $name }, daher keine Angabe zu ihrer Spitzenleistung; bekannt sind zum Beispiel { $known }: stepscope doc cards zeigt alle
warning-no-effect = Warnung: { $flag } hat in der Live-Ansicht keine Wirkung
error-too-large-inside = entpackt ist diese Datei größer als { $size }
    .hint = entpacke sie und nimm den Teil, den du brauchst: zcat file.gz | head -c 100M > teil.log

## Wie sicher die Lesart ist

section-reading = Wurde dieses Log richtig gelesen?
reading-doubt = Diese Lesart ist zweifelhaft ({ $confidence } sicher): Prüfe sie, bevor du dich auf eine der Zahlen unten verlässt.
reading-doubt-below = Der größte Posten unten ist vielleicht eine falsch gelesene Zeit.
reading-item = { $text } [{ $code }]
reading-settle = So klärst du es: stepscope formats try { $path } zeigt, wie jedes Format dieses Log liest; --format-file DATEI liest es mit einem anderen, --set schlüssel=wert gibt an, was es nicht sagt.
reading-agrees = Lesart: { $text }
reading-eta-doubt = unsicher: Dieses Log wurde vielleicht falsch gelesen. { $text }
audit-clocks-none = Nur eine Uhr: Nichts anderes im Log bestätigt seine Zeiten.
audit-clocks-agree = { $name ->
    [stamps] mit den Zeitstempeln verglichen, sie stimmen überein ({ $used } und { $other }).
   *[other] mit der eigenen Summe des Logs „{ $name }“ verglichen, sie stimmt überein ({ $used } und { $other }).
  }
audit-clocks-differ = { $name ->
    [stamps] Die ausgegebenen Zeiten ergeben { $used }, die Zeitstempel derselben Zeilen { $other }.
   *[other] Die gelesenen Zeiten ergeben { $used }, die eigene Summe des Logs „{ $name }“ ist aber { $other }.
  }
audit-unread-counts-none = Keine ungelesenen Zeilen zählen hoch.
audit-unread-counts = { $count ->
    [one] Eine Zeile, die Stepscope nicht liest, zählt hoch wie Iterationen: „{ $text }“ (Zeile { $line }).
   *[other] { $count } Zeilen, die Stepscope nicht liest, zählen hoch wie Iterationen: „{ $text }“ (ab Zeile { $line }).
  }
audit-unread-times-none = Keine ungelesenen Zeilen enthalten immer wieder Zeiten.
audit-unread-times = { $count ->
    [one] Eine Zeile, die Stepscope nicht liest, enthält vielleicht eine Zeit oder einen Loss: „{ $text }“ (Zeile { $line }).
   *[other] { $count } Zeilen, die Stepscope nicht liest, enthalten vielleicht eine Zeit oder einen Loss: „{ $text }“ (ab Zeile { $line }).
  }
audit-evaluations-booked = Die Evaluierungen sind verbucht.
audit-evaluations-unread = { $count ->
    [one] Eine Zeile sieht nach einer Evaluierung aus, die nicht verbucht ist: „{ $text }“ (Zeile { $line }).
   *[other] { $count } Zeilen sehen nach Evaluierungen aus, die nicht verbucht sind: „{ $text }“ (ab Zeile { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] Eine Evaluierung ist zu sehen, aber nichts zeigt, was sie gekostet hat.
   *[other] { $count } Evaluierungen sind zu sehen, aber nichts zeigt, was sie gekostet haben.
  }
audit-evaluations-none = Keine Zeile sieht nach einer Evaluierung aus.
audit-end-short = Das Log sagt, dass der Lauf zu Ende ist, aber die letzte gelesene Iteration ist { $step } von { $total }.
audit-end-unread = Zeile { $line } bedeutet vielleicht, dass der Lauf zu Ende ist: „{ $text }“.
audit-end-known = Das Log sagt, wie der Lauf endete, und seine letzte Iteration passt dazu.
audit-end-none = Keine ungelesene Zeile erwähnt ein Ende.
audit-step-none = Iterationen wurden gelesen, aber eine normale Zeit pro Iteration ergibt sich daraus nicht.
audit-step-plausible = { $duration } pro Iteration ist plausibel.
audit-step-odd = Iterationen von { $duration } oder so ungleiche Zeiten sind für ein Training ungewöhnlich.
audit-step-mean = Die ausgegebenen Iterationen dauern { $duration }, der Mittelwert aller Iterationen im Log ist aber { $mean }.
audit-step-clock = Die ausgegebenen Zeiten wachsen mit jeder Iteration um { $each }, von null an: Wahrscheinlich ist es eine Uhr, die nie zurückgesetzt wird. Dann dauert eine Iteration { $each } und nicht { $duration }.
audit-total-none = Es gibt keine Summe zum Vergleichen.
audit-total-negative = Die Summe von { $duration } widerspricht ihren Teilen.
audit-total-explained = { $share } der Zeit sind verbucht.
audit-total-unexplained = Nichts im Log erklärt { $share } der Zeit ({ $duration }).
audit-total-gap = In { $share } der Zeit ({ $duration }) lief nichts, es sei denn, Zeitstempel wurden falsch gelesen.
audit-counter-short = Zu wenige Iterationen, um zu sehen, ob sie gleichmäßig zählen.
audit-counter-regular = Die Iterationen zählen gleichmäßig.
audit-clock-none = Das Log hat keine Zeitstempel, die zurückspringen könnten.
audit-clock-runs-on = Die Zeitstempel springen nie zurück.
audit-clock-negative = Die Uhr des Fortschrittsbalkens ist in Zeile { $line } negativ: Die Uhr des Rechners wurde zurückgestellt, während das Log geschrieben wurde. Iterationen ab dort sind nicht gezählt.
audit-clock-set = { $count ->
    [one] Die Uhr wurde einmal zurückgestellt, während das Log entstand (Zeile { $line }, um { $by }); wie viel Zeit dort verging, ist angenommen.
   *[other] Die Uhr wurde { $count }-mal zurückgestellt, während das Log entstand (am weitesten in Zeile { $line }, um { $by }); wie viel Zeit dort verging, ist angenommen.
}
audit-counter-again = { $count ->
    [one] Die Zählung beginnt einmal von vorn: Die Summe umfasst beide Starts, obwohl vielleicht nur der letzte gemeint ist.
   *[other] Die Zählung beginnt { $count }-mal von vorn: Die Summe umfasst alle Starts, obwohl vielleicht nur der letzte gemeint ist.
}
audit-counter-epochs = In { $count } Trainings wird bis zum selben Ende gezählt: Jedes davon kann eine Epoche eines einzigen sein.
audit-counter-jumps = { $count ->
    [0] Die Iterationen zählen nicht gleichmäßig.
    [one] Die Iterationen zählen nicht gleichmäßig oder beginnen von vorn (einmal).
   *[other] Die Iterationen zählen nicht gleichmäßig oder beginnen von vorn ({ $count }-mal).
  }
audit-lines-none = Es gibt keine Zeilen zu zählen.
audit-lines-many = { $share } der Zeilen wurden gelesen.
audit-lines-few = Nur { $share } der Zeilen wurden gelesen.
audit-format-known = Das Format ist bekannt: { $format }.
audit-format-inferred = Das Format ist unbekannt; die Bedeutung der Zeilen wurde aus ihrem Aufbau abgeleitet ({ $confidence } sicher).
audit-formats-none = Andere Formate wurden nicht probiert.
audit-formats-one = Kein anderes Format als { $format } passt annähernd so gut.
audit-formats-close = Zwei Formate passen etwa gleich gut: { $format } erklärt { $share } des Logs, { $other } { $rest }.
audit-trained-none = Es wurden keine Iterationen gelesen.
audit-trained = Zu den Iterationen gehören Losses, Evaluierungen oder Checkpoints.
audit-trained-named = Die Iterationen geben Ergebnisse eines Trainings aus, etwa „{ $text }“.
audit-trained-unknown = Nichts zeigt, dass dies ein Training ist: kein Loss, keine Evaluierung, kein Checkpoint.
reason-no-steps-unread = Es wurde keine Iteration mit Zeit gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) enthalten sie vielleicht; Stepscope liest sie nicht.
reason-no-steps-over = Es wurde keine Iteration mit Zeit gelesen, und das Log zeigt, dass der Lauf zu Ende ist: Es kommt keine mehr.
reason-no-times-unread = Iterationen wurden gelesen, aber nicht ihre Zeiten. Zeilen wie „{ $text }“ (Zeile { $line }) enthalten sie vielleicht; Stepscope liest sie nicht.
reason-no-total-unread = Die Gesamtzahl der Iterationen wurde nicht gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) enthalten sie vielleicht; Stepscope liest sie nicht. Gib --max-steps N an oder --config mit den Einstellungen des Laufs.
change-none-seen-unread = Keine lohnende Änderung in dem, was gelesen wurde: Es ist keine Evaluierung verbucht. Zeilen wie „{ $text }“ (Zeile { $line }) enthalten vielleicht eine; Stepscope liest sie nicht.
alarm-ended-early-unread = Der Lauf endete nach Iteration { $step }; wie viele geplant waren, wurde nicht gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) enthalten es vielleicht; Stepscope liest sie nicht.

## What cost most time

finding-evaluation = { $count ->
    [one] Eine Evaluierung dauerte { $seconds }, { $share } der Zeit.
   *[other] { $count } Evaluierungen dauerten { $seconds }, { $share } der Zeit.
  }
finding-checkpoint = { $count ->
    [one] Ein Checkpoint dauerte { $seconds }, { $share } der Zeit.
   *[other] { $count } Checkpoints dauerten { $seconds }, { $share } der Zeit.
  }
finding-warmup = Das Warm-up (Kompilieren, erste GPU-Nutzung) dauerte { $seconds }, { $share } der Zeit.
finding-data = Das Warten auf Daten dauerte { $seconds }, { $share } der Zeit.
finding-gc = Die Garbage Collection dauerte { $seconds }, { $share } der Zeit.
finding-logging = Das Logging dauerte { $seconds }, { $share } der Zeit.
finding-communication = Das Warten auf andere Prozesse dauerte { $seconds }, { $share } der Zeit.
finding-stall = Ungeklärte Pausen dauerten { $seconds }, { $share } der Zeit.
finding-gap = { $seconds } lang lief nichts, { $share } der Zeit: Neustarts oder ein angehaltener Rechner.
finding-unlogged = { $seconds }, { $share } der Zeit, erklärt das Log nicht.
finding-slower = Die Iterationen { $first } bis { $last } dauerten { $level } statt { $normal }: Das kostete { $seconds }, { $share } der Zeit.
finding-repeated = { $count ->
    [one] Eine Iteration lief nach einem Neustart doppelt: { $seconds } Training, { $share } der Zeit.
   *[other] { $count } Iterationen liefen nach Neustarts doppelt: { $seconds } Training, { $share } der Zeit.
  }
finding-after-best = Am niedrigsten war der Validierungs-Loss bei Iteration { $step } ({ $loss }). Die { $seconds } danach, { $share } der Zeit, haben das Modell verschlechtert.

## Die Antwort in drei Zeilen

summary-running = Läuft: { $where }
summary-finished = Fertig: { $where }
summary-stopped = Ohne Meldung beendet: { $where }
summary-unknown = Läuft vielleicht noch: { $where }
summary-crashed = Abgestürzt nach { $wall }: { $where }
summary-crashed-early = Vor der ersten Iteration abgestürzt
summary-crashed-unread = Abgestürzt; keine Iteration erkannt
summary-crashed-untimed = Abgestürzt: { $where }
summary-out_of_memory = Speicher voll nach { $wall }: { $where }
summary-out_of_memory-early = Speicher voll vor der ersten Iteration
summary-out_of_memory-unread = Speicher voll; keine Iteration erkannt
summary-out_of_memory-untimed = Speicher voll: { $where }
summary-interrupted = Abgebrochen nach { $wall }: { $where }
summary-interrupted-early = Vor der ersten Iteration abgebrochen
summary-interrupted-unread = Abgebrochen; keine Iteration erkannt
summary-interrupted-untimed = Abgebrochen: { $where }
summary-killed = Von außen beendet nach { $wall }: { $where }
summary-killed-early = Vor der ersten Iteration von außen beendet
summary-killed-unread = Von außen beendet; keine Iteration erkannt
summary-killed-untimed = Von außen beendet: { $where }
summary-cause = Zeile { $line }: { $text }
summary-memory = { $asked } angefordert, frei waren { $free } von { $total } (Zeile { $line })
summary-smaller = Halbiere die Batchgröße und verdopple die Akkumulation: gleiches Training
summary-smaller-batch = Versuche Batchgröße { $batch_size } × Akkumulation { $accumulation }: gleich viele Tokens pro Iteration
summary-lost = { $count ->
    [0] Nichts ist verloren: Der letzte Checkpoint stammt von der letzten Iteration, { $step }
    [one] Verloren: eine Iteration ({ $seconds }) seit dem letzten Checkpoint (Iteration { $step })
   *[other] Verloren: { $count } Iterationen ({ $seconds }) seit dem letzten Checkpoint (Iteration { $step })
  }
summary-lost-all = Das Log zeigt keinen Checkpoint: Gibt es keinen, ist alles verloren ({ $wall })
summary-for-times = Für Zeitangaben starte es so: stepscope run -- python train.py
summary-for-trace = Um die Iterationen von innen zu messen, starte es so: stepscope run --trace -- python train.py
summary-teach = Was diese Zeilen bedeuten, zeigt und lernt stepscope formats try LOG --suggest
summary-nothing-lost = Keine Trainingszeit verloren: Es war noch keine Iteration fertig
summary-left = Noch { $left }{ $range }
summary-left-done = Noch { $left }{ $range } · Ende: { $time }
summary-left-if = Noch { $left }{ $range }, falls es weiterläuft
summary-left-default = Noch { $left }{ $range }, falls die voreingestellten { $count } Iterationen gelten
summary-left-done-default = Noch { $left }{ $range } · Ende: { $time }, falls die voreingestellten { $count } Iterationen gelten
summary-resumed = Laufzeit: { $wall }; bei Fortsetzung noch { $left }{ $range }
summary-took = Dauer: { $wall }
summary-took-each = Dauer: { $wall }, { $level } pro Iteration
summary-ran = Laufzeit: { $wall }
summary-ran-each = Laufzeit: { $wall }, { $level } pro Iteration
summary-doubt = { $each } oder { $one } je Iteration: „{ $text }“ kann für { $count } gelten oder für eine
summary-doubt-unit = „{ $text }“ hat keine Einheit und kann für { $count } Iterationen gelten oder für eine
summary-no-times = Das Log enthält keine Zeiten: Dauer und Ende sind unbekannt
summary-no-steps = Noch keine Iteration mit Zeit: Dauer und Ende sind unbekannt
summary-only-evaluations = { $count ->
    [one] Eine Evaluierung dauerte { $seconds }; für Iterationen gibt es keine Zeiten
   *[other] { $count } Evaluierungen dauerten je { $low } bis { $high }, zusammen { $seconds }; für Iterationen gibt es keine Zeiten
}
summary-so-far-no-total = Bisher { $wall }; für das Ende: --max-steps N angeben
summary-so-far-no-end = Bisher { $wall }; das Ende ist noch nicht abzusehen
summary-each-no-total = Bisher { $wall }, { $level } pro Iteration; Ende mit --max-steps N
summary-each-no-end = Bisher { $wall }, { $level } pro Iteration; Ende noch nicht abzusehen
summary-unlogged = Größter Posten: { $seconds } ({ $share }), die das Log nicht erklärt
summary-healthy = Nichts zu verbessern: { $share } der Zeit sind Training
summary-healthy-part = Nichts zu verbessern, soweit gemessen; ohne Zeitangabe: { $stops }
summary-healthy-inside = Nichts zu verbessern, soweit gemessen; im Training enthalten: { $stops }
summary-few = Zu wenige Zeilen, um zu sagen, was Zeit kostet
summary-no-cost = Nichts Vermeidbares kostet 1 % der Zeit oder mehr
size-mib = { $size } MiB
size-gib = { $size } GiB
cost-evaluation = { $count ->
    [one] Größter Posten: eine Evaluierung, { $seconds } ({ $share } der Zeit)
   *[other] Größter Posten: { $count } Evaluierungen, { $seconds } ({ $share } der Zeit)
  }
cost-checkpoint = { $count ->
    [one] Größter Posten: ein Checkpoint, { $seconds } ({ $share } der Zeit)
   *[other] Größter Posten: { $count } Checkpoints, { $seconds } ({ $share } der Zeit)
  }
cost-warmup = Größter Posten: Warm-up (Kompilieren, erste GPU-Nutzung), { $seconds } ({ $share })
cost-data = Größter Posten: Warten auf Daten, { $seconds } ({ $share } der Zeit)
cost-gc = Größter Posten: Garbage Collection, { $seconds } ({ $share } der Zeit)
cost-logging = Größter Posten: Logging, { $seconds } ({ $share } der Zeit)
cost-communication = Größter Posten: Warten auf andere Prozesse, { $seconds } ({ $share } der Zeit)
cost-stall = Größter Posten: ungeklärte Pausen, { $seconds } ({ $share } der Zeit)
cost-gap = Größter Posten: { $seconds } ({ $share }) Stillstand (Neustarts, Ruhezustand)
cost-slower = Größter Posten: langsame Iterationen { $first }–{ $last }, { $seconds } ({ $share } der Zeit)
cost-repeated = { $count ->
    [one] Größter Posten: eine Iteration doppelt nach einem Neustart, { $seconds } ({ $share })
   *[other] Größter Posten: { $count } Iterationen doppelt nach Neustarts, { $seconds } ({ $share })
  }
cost-after-best = Größter Posten: { $seconds } ({ $share }) nach dem besten Loss (Iteration { $step })

## Eine Bildschirmseite

slow-group-times = { $where } ({ $count }×)
slow-group-some = { $count } Iterationen
section-slow-lines = Langsame Zeilen (je { $count } Iterationen)
section-change-next = Was sich beim nächsten Mal zu ändern lohnt
change-savings-rest = Ersparnis im Rest dieses Laufs
change-savings-run = Ersparnis bei einem Lauf wie diesem
finish-would = das Ende wäre gewesen: { $time } ({ $low } – { $high })
slow-group-every = alle { $every }
slow-group-window = { $first }–{ $last }
change-short = { $change }: spart { $duration }
part-about = { $phase } ≈{ $duration }
screen-more = Mehr: --full
screen-more-about = Mehr: --full. ≈: aus diesem Log nicht genau zu bestimmen.
screen-more-lines = { $count ->
    [one] … und eine weitere
   *[other] … und { $count } weitere
  }
screen-inferred = Unbekanntes Format, anhand seines Aufbaus gelesen ({ $confidence } sicher): stepscope formats try { $path } --suggest
## Flotten

fleet-listing = Bisher { $found } Logs gefunden
fleet-progress = { $done } von { $total } · { $rate } pro Sekunde · noch { $left }
fleet-scanned = { $runs ->
    [one] Ein Lauf gelesen, { $failed } nicht verstanden; Ordner und Logs unverändert: { $known } von { $found }.
   *[other] { $runs } Läufe gelesen, { $failed } nicht verstanden; Ordner und Logs unverändert: { $known } von { $found }.
  }
fleet-unreadable-folder = Warnung: Der Ordner { $path } lässt sich nicht auflisten
error-bad-workers = --workers erwartet eine ganze Zahl von 1 bis 4095
    .hint = zum Beispiel: --workers 8
error-bucket-without-name = kein Bucket angegeben
    .hint = zum Beispiel: s3://logs/runs
error-no-bucket = diesen Bucket gibt es nicht
    .hint = prüfe den Namen und, wenn es nicht der Dienst des Anbieters selbst ist, AWS_ENDPOINT_URL
error-no-such-object = dort liegt nichts
    .hint = prüfe den Schlüssel: Ein Präfix endet, wo ein Ordner enden würde
error-bucket-no-credentials = keine Zugangsdaten für diesen Bucket
    .hint = richte sie ein wie für die Tools des Anbieters, oder AWS_SKIP_SIGNATURE=true, wenn der Bucket öffentlich ist
error-bucket-refused = mit diesen Zugangsdaten ist das Lesen nicht erlaubt
    .hint = Auflisten und Lesen müssen erlaubt sein
error-bucket-unreachable = der Bucket lässt sich nicht lesen: { $reason }
    .hint = prüfe Endpunkt, Region und Netz
error-bucket-unsorted = dieser Bucket listet seine Schlüssel ungeordnet auf
    .hint = das tun Verzeichnis-Buckets von S3: kopiere die Logs in einen gewöhnlichen Bucket oder lies sie von einer Platte
error-bad-engine = diese Engine gibt es nicht
    .hint = zum Beispiel: --engine pool, --engine ray://head:10001, --engine dask://scheduler:8786
error-engine-unreachable = keine Verbindung zum Cluster: { $reason }
    .hint = prüfe die Adresse und ob er läuft
error-worker-without-us = ein Worker kann Stepscope nicht importieren: { $reason }
    .hint = installiere auf den Workern dieselbe Version, mit dem Extra fleet
fleet-watching = { $count } verfolgt · { $stalled } ohne Ausgabe · { $ended } beendet · Alarme: { $alarms }
fleet-not-followed = Warnung: { $path } wird nicht verfolgt: { $reason }
error-fleet-without-sources = dieser Store weiß nicht, wo seine Logs liegen
    .hint = lies sie zuerst ein: stepscope fleet scan /logs/slurm --store { $place }
error-fleet-needs-place = nichts zum Einlesen angegeben
    .hint = nenne Ordner, Logs oder Buckets: stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = ein anderer Scan schreibt gerade in diesen Store
    .hint = warte auf ihn oder nimm ein anderes --store
error-fleet-too-slow = das Lesen dauerte mehr als { $minutes } Minuten
    .hint = sieh dir die Datei einzeln an: stepscope { $place }

## Die Seite eines Laufs

state-name-running = Läuft
state-name-finished = Fertig
state-name-crashed = Abgestürzt
state-name-out_of_memory = Speicher voll
state-name-interrupted = Abgebrochen
state-name-killed = Von außen beendet
state-name-stopped = Ohne Meldung beendet
state-name-unknown = Status unklar
page-last-line = letzte Zeile
page-export = Exportieren
page-export-summary = Zusammenfassung kopieren
page-export-json = Daten speichern (JSON)
page-export-link = Link zu dieser Ansicht kopieren
page-export-print = Drucken
page-export-more = Weitere Formate, im Terminal:
page-copy = Kopieren
page-copied = Kopiert
page-card-do = Was jetzt hilft
page-card-done = Ende
page-card-left = Restzeit
page-card-left-if = Restzeit, falls es weiterläuft
page-card-took = Dauer
page-card-progress = Fortschritt
page-card-speed = Tempo
page-card-overhead = Overhead
page-ended-at = beendet: { $time }
page-elapsed = bisher { $duration }
page-no-total = Gesamtzahl unbekannt
page-iterations = { $count ->
    [one] Iteration
   *[other] Iterationen
}
page-per-iteration = pro Iteration
page-speed-range = { $share } brauchen { $span }
page-speed-tokens = { $tokens } Tokens/s
page-overhead-none = alles ist Training
section-findings = Was Zeit gekostet hat
page-why = Warum, und was es kostet
page-more-advice = Lohnt sich auch
page-more-changes = { $count ->
    [one] Eine weitere Möglichkeit
   *[other] { $count } weitere Möglichkeiten
}
page-timeline = Verlauf
page-lane-level = Zeit pro Iteration
page-lane-stops = langsame Iterationen und Stopps, nach ihren Teilen
page-unprinted = nicht ausgegeben (nur 1 von { $count } steht im Log)
page-training-loss = Trainings-Loss
page-best = Bestwert: { $loss } bei { $step }
page-tip-window = Iterationen { $first }–{ $last } ({ $count }): je { $took }
page-strip-hint-touch = Tippen zeigt Werte; die Knöpfe oben vergrößern und verschieben.
page-tabs = Details
page-tab-forecast = Prognose
page-tab-ranks = Ranks
page-tab-log = Log
page-column-count = Anzahl
page-column-each = je
page-column-extra = zusätzlich
page-column-cause = Ursache
page-column-rank = Rank
page-column-host = Host
page-column-format = Format
page-slow-groups = Nach Art
page-slow-each = Einzeln
page-window = { $first }–{ $last } ({ $count } Iterationen)
page-fan-changed = was wäre, wenn
page-reset = Zurücksetzen
page-copy-flags = Als Optionen kopieren
page-ranks-hint = Jede Zeile ist ein Rank, jede Spalte ein Abschnitt des Laufs. Die Farbe zeigt seine Zeit pro Iteration im Vergleich zum Median aller Ranks in diesem Abschnitt.
page-log-hint = Zeilen, aus denen die Zahlen stammen, soweit sie sich zitieren lassen: langsame Iterationen, Evaluierungen, Checkpoints, Hinweise, das Ende, nicht verstandene Zeilen und Iterationen dazwischen. Die Zahl rechts führt in den Verlauf.
page-log-whole = Alle { $count } Zeilen des Logs; die Zahl rechts führt zur Iteration im Verlauf.
page-log-find = Suchen
page-sure = Sicherheit dieser Lesart
page-candidates = Formate, die probiert wurden
page-verdict-agrees = passt
page-verdict-disagrees = widerspricht
page-verdict-cannot-tell = unklar
page-card-lost = Was verloren ist
page-card-so-far = Bisher
page-more-alarms = { $count } weitere
page-show = Im Verlauf zeigen
page-best-loss = bester Validierungs-Loss { $loss } bei { $step }
page-window-mark = Mittel der Iterationen, für die eine Zeile steht
page-tokens-per-s = Tokens/s
page-steps-per-s = Iterationen/s
error-theme-without-picture = --theme gilt für Bilder
    .hint = ergänze --format png oder --format svg
# The runs of a folder
runs-title = { $count } Läufe in { $path }, der neueste zuerst
runs-column-run = Lauf
runs-column-state = Status
runs-column-done = Stand
runs-column-time = Zeit
runs-column-lost = verloren
runs-column-cost = größter Posten
runs-state-running = läuft
runs-state-finished = fertig
runs-state-stopped = ohne Meldung
runs-state-unknown = läuft?
runs-state-crashed = abgestürzt
runs-state-out_of_memory = Speicher voll
runs-state-interrupted = abgebrochen
runs-state-killed = von außen beendet
runs-left = noch { $left }
runs-cost-after-best = nach Bestwert
runs-cost-slower = langsamer Teil
runs-cost-repeated = doppelte Arbeit
runs-too-large = zu groß für diese Liste
runs-open = Einen öffnen: { $command }
runs-one-of = { $folder } enthält { $count } Läufe; das hier ist { $path }. Alle: stepscope { $folder }
runs-more = { $count ->
    [one] Eine weitere, ältere Datei wurde nicht angesehen. Alle Läufe: stepscope serve { $path }
   *[other] { $count } weitere, ältere Dateien wurden nicht angesehen. Alle Läufe: stepscope serve { $path }
}
error-several-runs = dieses Format ist für einen einzelnen Lauf, und der Ordner enthält { $count } oder mehr
    .hint = nenne einen davon: stepscope { $path }

# compare --fail-on
gate-passed-same = Bestanden: nicht langsamer.
gate-passed-slower = Bestanden: { $change } langsamer, innerhalb der Grenze von { $limit }.
gate-passed-faster = Bestanden: { $change } schneller.
gate-slower = { $change } langsamer{ $span }: mehr als die Grenze von { $limit } und mehr als Rauschen.
gate-cannot-judge = Kein Urteil möglich: { $reason }.
gate-noise = { $change } langsamer, aber das kann Rauschen sein
gate-unsure = { $path } wurde vielleicht falsch gelesen
gate-too-few = { $path } hat { $count } normale Iterationen mit einer Zeit, nötig sind { $least }
gate-no-time = die Zeiten in { $path } sind für einen Vergleich zu grob
error-bad-fail-on = --fail-on erwartet einen Prozentsatz
    .hint = zum Beispiel: --fail-on 5%
error-bad-baseline = diese gespeicherte Vergleichsbasis ist beschädigt ({ $reason })
    .hint = speichere sie neu: stepscope compare LOG --save-baseline DATEI

# --price
with-amount = { $text } · { $money }
with-money = { $text } · { $money } bei { $rate }
with-money-of = { $text } · { $money } bei { $rate } × { $count } GPUs
eta-line-left = { $left }
error-price-needs-power = für einen Preis je Kilowattstunde wird die Leistungsaufnahme der GPU gebraucht
    .hint = gib --nvidia-smi DATEI an oder einen Preis je Stunde wie --price 2.10/h

# Live: the best model lies long behind
alarm-past-best = Der Validierungs-Loss war bei Iteration { $step } am niedrigsten ({ $loss }), und die { $count } Evaluierungen seitdem sind schlechter; danach vergingen noch { $share } der Zeit. Jetzt abzubrechen kostet nichts: Der Checkpoint dieser Iteration ist gespeichert.
alarm-past-best-left = Der Validierungs-Loss war bei Iteration { $step } am niedrigsten ({ $loss }), und die { $count } Evaluierungen seitdem sind schlechter; danach vergingen noch { $share } der Zeit. Jetzt abzubrechen kostet nichts und spart { $left }: Der Checkpoint dieser Iteration ist gespeichert.
alarm-past-best-unsaved = Der Validierungs-Loss war bei Iteration { $step } am niedrigsten ({ $loss }), und die { $count } Evaluierungen seitdem sind schlechter; danach vergingen noch { $share } der Zeit. Einfach weiterzutrainieren hilft nicht; das Log zeigt keinen Checkpoint dieser Iteration.
alarm-past-best-unsaved-left = Der Validierungs-Loss war bei Iteration { $step } am niedrigsten ({ $loss }), und die { $count } Evaluierungen seitdem sind schlechter; danach vergingen noch { $share } der Zeit. Weitere { $left } zu trainieren hilft kaum; das Log zeigt keinen Checkpoint dieser Iteration.

# The answer in three lines, where a mean is no normal iteration
summary-each-no-total-mean = Bisher { $wall }, { $level } pro Iteration im Mittel; Ende mit --max-steps N
summary-each-no-end-mean = Bisher { $wall }, { $level } pro Iteration im Mittel; Ende noch nicht abzusehen
state-last-written-only = letzte Zeile: { $at }
error-fleet-bad-pattern = ein Pfadmuster nennt in geschweiften Klammern user, project, commit, gpu, hosts, devices, job_id oder price, jedes einmal
    .hint = siehe docs/fleet.md, „Facts that logs rarely hold“
error-fleet-bad-facts = das ist keine Tabelle mit Angaben
    .hint = eine CSV-Datei, deren erste Zeile die Spalten nennt: { $columns }
error-fleet-bad-sacct = das ist keine Ausgabe von sacct --parsable2
    .hint = zum Beispiel: sacct --parsable2 --format JobID,User,Account,AllocTRES,NodeList,Start,Timelimit > jobs.txt
fleet-gpu-hours = { $hours } GPU-Stunden
fleet-run-hours = { $hours } Stunden
fleet-with-cost = { $hours } (Kosten { $cost })
fleet-with-money = { $hours } ({ $cost })
fleet-unit-gpu = GPU-Stunden
fleet-unit-run = Stunden
fleet-head = { $runs ->
    [one] Goodput { $share }{ $range } von { $amount } in einem Lauf.
   *[other] Goodput { $share }{ $range } von { $amount } in { $runs } Läufen.
  }
fleet-nothing-timed = { $count ->
    [one] Ein Lauf, und sein Log enthält keine Zeiten.
   *[other] { $count } Läufe, und kein Log enthält Zeiten.
  }
fleet-rests-on = In keiner Log-Zeile zu sehen: { $unexplained } der Zeit. Zählt jeder Lauf gleich viel, ist der Goodput { $runs }.
fleet-each-once = Zählt jeder Lauf gleich viel, ist der Goodput { $runs }.
fleet-lost = Verloren: { $amount }, am meisten durch: { $cause }, { $most }.
fleet-first = Als Erstes: { $what }. Das hätte { $amount } gespart.
fleet-then = Danach: { $what }.
fleet-counted = { $count ->
    [one] Von { $of } Läufen zählt der eine, dessen GPU-Zahl bekannt ist.
   *[other] Von { $of } Läufen zählen die { $count }, deren GPU-Zahl bekannt ist.
  }
fleet-fix-regression = prüfe, was sich mit { $name } geändert hat: Seitdem dauert eine Iteration länger
fleet-fix-host = nimm den Host { $name } bis zur Reparatur aus dem Betrieb
fleet-copies = { $count ->
    [one] Ein Log ist die Kopie eines anderen: Ihr Lauf zählt einmal.
   *[other] { $count } Logs sind Kopien anderer: Jeder Lauf zählt einmal.
  }
fleet-paused = { $count ->
    [one] Ein Lauf pausierte zwischen zwei Starts länger als eine Stunde, insgesamt { $amount }: nicht gezählt, denn seine GPUs können so lange andere Jobs gehabt haben.
   *[other] { $count } Läufe pausierten zwischen zwei Starts länger als eine Stunde, insgesamt { $amount }: nicht gezählt, denn ihre GPUs können so lange andere Jobs gehabt haben.
  }
fleet-training = { $count ->
    [one] Ein Lauf endete vorzeitig oder startete neu: Nach diesem Verlust blieben { $share } seiner Zeit.
   *[other] { $count } Läufe endeten vorzeitig oder starteten neu: Nach diesem Verlust blieben { $share } ihrer Zeit.
  }
fleet-column-cause = Ursache
fleet-column-cost = Kosten
fleet-column-share = Anteil
fleet-column-runs = Läufe
fleet-column-each = Mittel je Lauf
fleet-column-host = Host
fleet-column-ratio = Iteration
fleet-column-slow = langsam
fleet-column-crashed = abgestürzt
fleet-column-verdict = Befund
fleet-column-run = Lauf
fleet-column-left = Restzeit
fleet-column-chance = rechtzeitig
fleet-column-alarms = Alarme
fleet-column-goodput = Goodput
fleet-column-lost = verloren
fleet-column-worst = vor allem
fleet-cause-after_best = nach dem besten Validierungs-Loss
fleet-cause-slower = langsamere Abschnitte
fleet-cause-lost_work = nach Neustarts doppelt gerechnet
fleet-cause-died_after_checkpoint = nach einem Checkpoint abgestürzt
fleet-cause-died_before_checkpoint = vor dem ersten Checkpoint abgestürzt
fleet-cause-straggler = Warten auf einen langsamen Rank
fleet-cause-stall = Stillstand, Grund unbekannt
fleet-remedy-evaluation = evaluiere seltener oder auf weniger Batches
fleet-remedy-checkpoint = speichere Checkpoints seltener oder im Hintergrund
fleet-remedy-warmup = behalte den Compile-Cache von Lauf zu Lauf
fleet-remedy-data = lade Batches mit mehr Workern
fleet-remedy-gc = rufe die Garbage Collection nur bei festen Iterationen auf
fleet-remedy-logging = logge seltener
fleet-remedy-communication = sieh dir das Netz an und wo die Ranks laufen
fleet-remedy-stall = zeichne so einen Job mit stepscope run --trace auf, um zu sehen, worauf er wartet
fleet-remedy-gap = starte Jobs sofort und automatisch neu
fleet-remedy-after_best = hör auf, wenn der Validierungs-Loss wieder steigt
fleet-remedy-slower = prüfe Hitze, Takt und andere Jobs auf diesen Hosts
fleet-remedy-lost_work = speichere öfter Checkpoints
fleet-remedy-died_after_checkpoint = speichere öfter Checkpoints und starte abgestürzte Jobs neu
fleet-remedy-died_before_checkpoint = teste jeden Job zuerst einige Iterationen und speichere früh einen Checkpoint
fleet-remedy-straggler = nimm den langsamen Host aus dem Betrieb
fleet-back = Zurück zur Flotte
fleet-cause-spread = { $count ->
    [one] in einem Lauf; zählt jeder Lauf gleich viel, { $share } der Zeit
   *[other] in { $count } Läufen; zählt jeder Lauf gleich viel, { $share } der Zeit
}
fleet-would-save = { $what }; hätte { $amount } gespart
fleet-beyond = Davon brachten { $amount } keinen nennenswerten Gewinn an Genauigkeit.
fleet-tradeoff = Mit weniger Checkpoints geht mehr verloren, wenn ein Lauf abbricht; bisher waren es { $amount }.
fleet-most-in = am meisten in { $run }: { $amount }
fleet-regression-commit = { $config }: seit Commit { $since } dauert eine Iteration { $share } länger{ $range }: { $before } → { $after }, das meiste davon in: { $phase }. { $count ->
    [one] Seitdem kostete ein Lauf { $amount } mehr als vorher.
   *[other] Seitdem kosteten { $count } Läufe { $amount } mehr als vorher.
  }
fleet-regression-day = { $config }: seit { $since } dauert eine Iteration { $share } länger{ $range }: { $before } → { $after }, das meiste davon in: { $phase }. { $count ->
    [one] Seitdem kostete ein Lauf { $amount } mehr als vorher.
   *[other] Seitdem kosteten { $count } Läufe { $amount } mehr als vorher.
  }
fleet-since-range = { $since } (zwischen { $low } und { $high })
fleet-lemon-slow = Montagsgerät: langsam
fleet-lemon-crashing = Montagsgerät: stürzt ab
fleet-no-lemon = { $count ->
    [one] Ein Host, nicht langsamer und nicht öfter abgestürzt, als der Zufall erklärt.
   *[other] { $count } Hosts, keiner langsamer oder öfter abgestürzt, als der Zufall erklärt.
  }
fleet-unknown = unbekannt
fleet-by-host = Host
fleet-by-user = Benutzer
fleet-by-project = Projekt
fleet-by-trainer = Trainer
fleet-by-gpu = GPU
fleet-by-commit = Commit
fleet-section-causes = Wohin die Zeit ging, das Teuerste zuerst
fleet-section-advice = Was zu tun ist
fleet-section-regressions = Was langsamer wurde
fleet-section-hosts = Hosts
fleet-section-running = Beim letzten Einlesen noch aktiv ({ $count })
fleet-section-by = Aufschlüsselung
fleet-section-missing = Was nicht bekannt ist
fleet-unread = { $count ->
    [one] Eine Datei wurde nicht gelesen: { $reason }
   *[other] { $count } Dateien wurden nicht gelesen: { $reason }
  }
fleet-untimed = { $count ->
    [one] Ein Lauf hat keine Zeiten im Log und bleibt außen vor.
   *[other] { $count } Läufe haben keine Zeiten in ihren Logs und bleiben außen vor.
  }
fleet-without-devices = { $count ->
    [one] Ein Lauf sagt nicht, auf wie vielen GPUs er lief: Er zählt bei den GPU-Stunden nicht mit.
   *[other] { $count } Läufe sagen nicht, auf wie vielen GPUs sie liefen: Sie zählen bei den GPU-Stunden nicht mit.
  }
fleet-without-price = { $count ->
    [one] Ein Lauf hat keinen Preis: Er fehlt in den Kosten.
   *[other] { $count } Läufe haben keinen Preis: Sie fehlen in den Kosten.
  }
fleet-without-hosts = { $count ->
    [one] Ein Lauf sagt nicht, auf welchen Hosts er lief: Er wird keinem Host angelastet.
   *[other] { $count } Läufe sagen nicht, auf welchen Hosts sie liefen: Sie werden keinem Host angelastet.
  }
fleet-without-commit = { $count ->
    [one] Ein Lauf nennt seinen Commit nicht: Änderungen seiner Config werden auf den Tag datiert.
   *[other] { $count } Läufe nennen ihre Commits nicht: Änderungen ihrer Configs werden auf den Tag datiert.
  }
fleet-without-user = { $count ->
    [one] Ein Lauf ohne Benutzer.
   *[other] { $count } Läufe ohne Benutzer.
  }
fleet-without-project = { $count ->
    [one] Ein Lauf ohne Projekt.
   *[other] { $count } Läufe ohne Projekt.
  }
fleet-without-gpu = { $count ->
    [one] Ein Lauf ohne GPU-Modell.
   *[other] { $count } Läufe ohne GPU-Modell.
  }
fleet-without-config_hash = { $count ->
    [one] Ein Lauf nennt keine Einstellungen: Er wird mit keinem anderen verglichen.
   *[other] { $count } Läufe nennen keine Einstellungen: Sie werden mit keinem anderen verglichen.
  }
error-fleet-no-store = in diesem Store sind keine Läufe
    .hint = lies zuerst welche ein: stepscope fleet scan /logs/slurm --store { $place }
error-fleet-bad-price = der Preis einer Flotte gilt pro GPU-Stunde
    .hint = zum Beispiel: --price 2.10/h
fleet-filter = Nur Zeilen mit
fleet-other-causes = andere Ursachen
fleet-section-runs = Läufe, die am meisten verloren
fleet-column-state = Status
fleet-column-whose = Benutzer / Projekt
fleet-state-running = läuft
fleet-state-finished = fertig
fleet-state-crashed = abgestürzt
fleet-state-out_of_memory = Speicher voll
fleet-state-interrupted = abgebrochen
fleet-state-killed = von außen beendet
fleet-state-stopped = ohne Meldung
fleet-state-unknown = unbekannt
## Was die ausgegebene Zeit bedeutet

clock-step = Die ausgegebene Zeit ist die einer Iteration.
clock-window = Die ausgegebene Zeit ist das Mittel der Iterationen seit der vorigen Zeile.
clock-window-sum = Die ausgegebene Zeit ist die aller Iterationen seit der vorigen Zeile.
clock-cumulative = Das Log gibt eine Uhr aus, die von Zeile zu Zeile weiterläuft.
clock-cumulative-mean = Die ausgegebene Zeit ist das Mittel aller Iterationen seit der ersten.
clock-stamp = Das Log gibt keine Zeit pro Iteration aus; die Zeiten sind die Abstände zwischen den Zeitstempeln der Zeilen.
clock-arrival = Die Zeiten sind die aufgezeichneten Ankunftszeiten der Zeilen; die Uhr in den Zeilen ist gröber.
clock-includes = Darin enthalten: { $phases }.
clock-more = Mehr über dieses Format: { $command }

## Die Notiz als Beitrag

note-calm = { $count ->
    [one] Dieser Sprung ist normal.
   *[other] Diese Sprünge sind normal.
}
note-costly = Die langsamen Iterationen sind geplante Stopps, aber sie kosten { $share } der Zeit.
note-unexplained = { $count ->
    [one] Eine von { $total } langsamen Iterationen ist ungeklärt.
   *[other] { $count } von { $total } langsamen Iterationen sind ungeklärt.
}
note-which = { $count ->
    [one] Iteration { $steps } ist
   *[other] Die Iterationen { $steps } sind
} kein langsameres Training: { $trainer } hält dort an, um { $stops ->
    [both] den Loss zu messen und einen Checkpoint zu speichern
    [evaluation] den Loss zu messen
   *[save] einen Checkpoint zu speichern
}, und seine Uhr läuft weiter.
note-which-many = { $count } davon sind kein langsameres Training: { $trainer } hält dort an, um { $stops ->
    [both] den Loss zu messen und einen Checkpoint zu speichern
    [evaluation] den Loss zu messen
   *[save] einen Checkpoint zu speichern
}, und seine Uhr läuft weiter.
note-which-all = Keine davon ist langsameres Training: { $trainer } hält dort an, um { $stops ->
    [both] den Loss zu messen und einen Checkpoint zu speichern
    [evaluation] den Loss zu messen
   *[save] einen Checkpoint zu speichern
}, und seine Uhr läuft weiter.
note-micro = Eine Iteration besteht aus { $accumulation } Mikro-Batches zu { $batch } Sequenzen, Forward und Backward.
note-took = Iteration { $step } dauerte { $duration }: { $parts }.
note-alike = { $count ->
    [one] Eine weitere dieser Art dauerte { $span }.
   *[other] { $count } weitere dieser Art dauerten { $span }.
}
note-every = Sie kommen alle { $every } Iterationen.
note-batches = Eine Evaluierung rechnet { $count } Batches { $splits ->
    [one] durch, ohne darauf zu trainieren.
   *[other] aus jedem von { $splits } Splits durch, ohne darauf zu trainieren.
}
note-section-first = Warum Iteration { $step } so lange dauert ({ $duration })
note-first = Das Warm-up fällt einmal pro Start an: Kompilieren und erste GPU-Nutzung.
note-section-summary = Zusammenfassung
note-sum-planned = Die langsamen Iterationen sind geplante Stopps, kein langsames Training: Evaluierungen und Checkpoints kosten { $share } der Zeit.
note-sum-normal = Eine normale Iteration dauert { $duration }.
note-at-most = { $phase } höchstens { $duration }
note-closing = Voraussichtliches Ende des Trainings: etwa { $time } ({ $low } – { $high }).

# Keys of the live view
live-keys = q beenden · ? Hilfe · p anhalten · + − Spanne · c Kurven · a Tipp · l Log
live-key-span = + − mehr oder weniger Iterationen zeigen
live-key-charts = c   die Kurven zeigen oder verbergen
live-key-advice = a   die Tipps zeigen oder verbergen
live-held = Angehalten: Der Lauf geht weiter, Alarme werden weiter gesendet. Weiter mit p.
live-key-quit = q   beenden; der Lauf geht weiter
live-key-pause = p   das Bild anhalten oder weiterlaufen lassen (auch mit der Leertaste)
live-key-log = l   die letzten Zeilen des Logs zeigen oder verbergen
live-key-help = ?   diese Hilfe schließen

# Both ends of the interval in one minute
finish-at-one = Ende: { $time }
## The list of runs and what is beside it
app-new = Neu
app-close = Schließen
app-copy = Kopieren
app-copied = Kopiert
app-clear = Leeren
app-apply = Anwenden
app-dismiss = Ausblenden
app-all = Alle
app-filter = Suchen und filtern
app-filter-state = Status
app-search = Läufe suchen
app-any-trainer = Alle Trainer
app-any-folder = Alle Ordner
app-folder = Ordner
app-no-folder = (dieser Ordner)
app-group = Nach Ordnern gruppieren
app-sort = Sortierung
app-column-state = Status
app-column-run = Lauf
app-column-trainer = Trainer
app-column-progress = Fortschritt
app-column-step = Pro Iteration
app-column-left = Rest oder Ende
app-column-overhead = Overhead
app-column-loss = Bester Val.-Loss
app-column-time = Tempo und Pausen
app-column-updated = Aktualisiert
app-state-running = Läuft
app-state-stalled = Hängt?
app-state-finished = Fertig
app-state-crashed = Abgestürzt
app-state-out-of-memory = Speicher voll
app-state-interrupted = Abgebrochen
app-state-killed = Beendet (kill)
app-state-stopped = Ohne Meldung
app-state-unknown = Stumm
app-state-unread = Nicht gelesen
app-looking = Läufe werden gesucht …
app-reading = Wird gelesen: { $read } von { $found } Dateien
app-count = { $shown } von { $total } Läufen
app-others = Dateien ohne Trainings-Log: { $count }
app-unreadable = Nicht lesbare Ordner: { $count }
app-no-match = Kein Lauf passt. Leere die Suche oder wähle einen anderen Status.
app-empty-start = Starte ein Training mit Zeitaufzeichnung; nach wenigen Sekunden erscheint es hier:
app-empty-paste = Oder öffne ein Log, das woanders liegt: Lass es auf diese Seite fallen oder füge seine Zeilen unter „Neu“ ein.
app-choose-file = Oder wähle eine Datei:
app-facts = Was das Log nicht sagt
app-facts-ask = Wie viele Iterationen hat dieser Lauf? Das Log sagt es nicht
app-fact-total = Iterationen insgesamt
app-fact-parameters = Parameter
app-fact-gpu = GPU
app-chosen = { $count } ausgewählt
app-choose-more = Wähle noch einen zum Vergleichen.
app-most = Bis zu acht Läufe lassen sich vergleichen.
app-files = { $count } Dateien
app-ran = lief { $duration }
app-left-at = Ende: { $time }
app-overdue = überfällig
app-no-total = Gesamtzahl unbekannt
app-progress = { $step } von { $total }
app-best-at = bei { $step }
app-now-live = Live
app-now-off = Keine Antwort
app-offline = Der Server antwortet nicht: Läuft stepscope serve noch? Die Seite zeigt den letzten Stand und versucht es weiter.
app-alarms = Alarme
app-notify-on = Benachrichtigen
app-notify-off = Benachrichtigung an
app-notify-denied = Der Browser blockiert Benachrichtigungen dieser Seite; erlaube sie in seinen Website-Einstellungen.
app-notice-state = { $name }: { $state }
app-title-running = ({ $count }) Stepscope
app-overlay = Die Kurven in einem Bild
app-overlay-by = Waagerechte Achse
app-overlay-step = nach Iterationen
app-overlay-tokens = nach Tokens
app-overlay-time = nach Zeit
app-overlay-loss = Trainings-Loss
app-overlay-validation = Validierungs-Loss
app-overlay-took = Zeit einer normalen Iteration
app-unread = konnte nicht gelesen werden ({ $problem }); öffne den Lauf, um den Grund zu sehen
app-unread-large = für die Liste zu groß oder zu langsam zu lesen; zum Lesen öffnen
app-instead-reason-no-total = Das Log nennt die Gesamtzahl der Iterationen nicht. Fülle oben „Iterationen insgesamt“ aus.
app-instead-reason-implausible-total = Die angegebene Gesamtzahl von { $total } Iterationen ist unplausibel: Beim jetzigen Tempo würden sie noch { $left } dauern. Korrigiere oben „Iterationen insgesamt“.
app-instead-reason-no-total-unread = Die Gesamtzahl der Iterationen wurde nicht gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) enthalten sie vielleicht; Stepscope liest sie nicht. Fülle oben „Iterationen insgesamt“ aus.
app-instead-summary-so-far-no-total = Bisher { $wall }; für das Ende „Iterationen insgesamt“ ausfüllen
app-instead-summary-each-no-total = Bisher { $wall }, { $level } pro Iteration; für das Ende „Iterationen insgesamt“ ausfüllen
app-instead-error-no-such-file = dieser Lauf liegt nicht (mehr) unter dem Ordner
    .hint = geh zurück zur Liste: Sie zeigt, was jetzt da ist
app-instead-error-compare-needs-two = ein Vergleich braucht mindestens zwei Läufe mit Zeiten
    .hint = geh zurück und wähle zwei Zeilen der Liste oder mehr
app-left-out = Weggelassen, weil ihre Logs keine Zeiten haben: { $names }
error-compare-most = bis zu acht Läufe lassen sich auf einmal vergleichen
    .hint = geh zurück und wähle weniger
app-instead-page-no-total = Gesamtzahl unbekannt: oben angeben
app-instead-summary-each-no-total-mean = Bisher { $wall }, { $level } pro Iteration im Mittel; für das Ende „Iterationen insgesamt“ ausfüllen
error-bad-fact = „{ $text }“ ist keine ganze Zahl ab 1
    .hint = geh zurück und schreib sie so: 20000 oder 124M
