### Deutsch. Fachwörter, die man englisch sagt (Checkpoint, Batch, Loss, Log), bleiben so.

## Zahlen

number-least-grouped = 1000
clock-with-date = { $date }, { $time }

## Phasen, Belege, Herkunft

phase-step = Training
phase-evaluation = Evaluierung
phase-checkpoint = Checkpoint
phase-warmup = Anlauf
phase-data = Daten
phase-gc = Garbage Collection
phase-logging = Protokollieren
phase-communication = Kommunikation
phase-stall = ungeklärt
phase-gap = Lücke
phase-unlogged = nicht im Log
basis-measured = gemessen
basis-inferred = erschlossen
basis-assumed = angenommen
basis-unpriced = { $count }×, ohne Zeitangabe
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
run-normal = Eine normale Iteration dauert { $duration }; neun von zehn dauern { $span }.
run-present = Derzeit dauert eine Iteration { $duration }.
run-normal-one = Eine normale Iteration dauert { $duration }.
run-tokens = { $tokens } Tokens pro Sekunde.
run-regimes = Das Niveau hat sich geändert: { $levels }.
run-level = { $duration } ab Iteration { $step }
run-sampled = Nur jede { $count }. Iteration wird ausgegeben; die Sekunden der übrigen sind aus ihren Nachbarn erschlossen.
run-settings = Einstellungen: { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu }: { $details }.
gpu-load = { $share } ausgelastet
gpu-memory = { $used } von { $total } GiB
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## Wie sich das Tempo ändert

trend-one = Eine einzige Zeile: Sie zeigt keinen Trend.
trend-one-time = Nur eine Zeit ist ausgegeben: Sie zeigt keinen Trend.
trend-steady = Gleichmäßig bis auf { $share }: In diesen Zeilen wird nichts langsamer.
trend-scatter = Kein Trend: Die Zeiten streuen zwischen { $low } und { $high }.
trend-two-speeds = Zwei Geschwindigkeiten: { $count } von { $total } ausgegebenen Iterationen dauern { $other_low } bis { $other_high }, die übrigen { $low } bis { $high }: um den Faktor { $factor } { $pace ->
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
trend-since = Rund { $share } { $pace ->
    [faster] schneller
   *[slower] langsamer
} seit Iteration { $step }: vorher { $before }, danach { $after }.
trend-since-times = Um den Faktor { $factor } { $pace ->
    [faster] schneller
   *[slower] langsamer
} seit Iteration { $step }: vorher { $before }, danach { $after }.
data-bottleneck = Das Warten auf Daten kostet { $share } der Zeit ({ $wait } von { $step } je Iteration): Das Laden ist der Engpass, die GPU wartet darauf.
data-share = Das Warten auf Daten kostet { $share } der Zeit ({ $wait } von { $step } je Iteration).
data-first = Nur die erste Zeile wartet auf Daten: Bis Iteration { $step } wartete jede { $duration }, danach { $usual }. Am Laden liegt es im Übrigen nicht.
data-minor = Das Warten auf Daten kostet { $share } der Zeit: Am Laden liegt es nicht.
data-at-once = Das Warten auf Daten kostet { $share } der Zeit, fast alles davon in { $count ->
    [one] Iteration { $step }
   *[other] { $count } langsamen Iterationen, am längsten in { $step }
} ({ $duration }).
past-total = Der Zähler ist über 100 % hinaus: Es wird mit einem geladenen Modell weitertrainiert, und die ausgegebene Restzeit bedeutet nichts.
rate-needs-size = Das Log gibt nur Raten aus: Für Sekunden je Iteration braucht es die Batchgröße.
rate-one = { $level } { $unit } je Sekunde in einer einzigen Zeile: Sie zeigt keinen Trend.
rate-one-time = { $level } { $unit } je Sekunde, nur einmal ausgegeben: kein Trend zu sehen.
rate-steady = Gleichmäßig bis auf { $share }: { $level } { $unit } je Sekunde.
rate-scatter = Kein Trend: Das Tempo streut zwischen { $low } und { $high } { $unit } je Sekunde.
rate-two-speeds = Zwei Geschwindigkeiten: { $count } von { $total } ausgegebenen Iterationen laufen mit { $other_low } bis { $other_high } { $unit } je Sekunde, die übrigen mit { $low } bis { $high }: um den Faktor { $factor } { $pace ->
    [faster] schneller
   *[slower] langsamer
}.
rate-along = Das Tempo { $pace ->
    [faster] steigt
   *[slower] fällt
} innerhalb dieser Zeilen von { $before } auf { $after } { $unit } je Sekunde ({ $share }).
rate-along-times = Das Tempo { $pace ->
    [faster] steigt
   *[slower] fällt
} innerhalb dieser Zeilen von { $before } auf { $after } { $unit } je Sekunde (Faktor { $factor }).
rate-since = Rund { $share } { $pace ->
    [faster] schneller
   *[slower] langsamer
} seit Iteration { $step }: vorher { $before } { $unit } je Sekunde, danach { $after }.
rate-since-times = Um den Faktor { $factor } { $pace ->
    [faster] schneller
   *[slower] langsamer
} seit Iteration { $step }: vorher { $before } { $unit } je Sekunde, danach { $after }.

## Wohin die Zeit ging

section-time = Wohin die Zeit ging
section-slow = Langsame Iterationen
section-finish = Wann es fertig ist
section-change = Was zu ändern ist
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
slow-none-alone = Keine einzelne Iteration sticht unter ihren Nachbarn hervor.
slow-column-step = Iteration
slow-column-took = dauerte
slow-column-why = besteht aus
slow-more = { $count ->
    [one] und eine weitere: { $causes }
   *[other] und { $count } weitere: { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = Evaluierung
cause-checkpoint = Checkpoint
cause-warmup = Anlauf
cause-data = Daten
cause-gc = Garbage Collection
cause-unexplained = ungeklärt
slow-unexplained = { $count ->
    [one] Eine langsame Iteration hat keine Ursache, die dieses Log zeigen könnte: { $duration } mehr als eine normale.
   *[other] { $count } langsame Iterationen haben keine Ursache, die dieses Log zeigen könnte: { $duration } mehr als normale.
  }
slow-first-no-save = Bei Iteration 0 wird nichts gespeichert: Was dort über die Evaluierung hinausgeht, ist Anlauf (Kompilieren, erster Zugriff), kein Checkpoint.
split-stamps = Evaluierung und Checkpoint sind durch die Zeitstempel an den Zeilen getrennt.
split-contrast = Evaluierung und Checkpoint sind durch den Vergleich von Evaluierungen mit und ohne Speichern getrennt.
split-first-step = Evaluierung und Checkpoint sind durch die erste Evaluierung getrennt, die nichts speichert.
split-model = Evaluierung und Checkpoint lassen sich in diesem Log nicht trennen: Jedes Speichern kommt mit einer Evaluierung. Die Aufteilung ist aus der Zahl der Forward-Pässe und den üblichen Kosten des Speicherns berechnet; die Spannen sagen, wie weit sie danebenliegen kann.
split-guess = Evaluierung und Checkpoint lassen sich in diesem Log nicht trennen: Jedes Speichern kommt mit einer Evaluierung, und wie viele Batches eine Evaluierung rechnet, ist nicht bekannt (geben Sie --set eval_iters=N an). Die Aufteilung ist aus den üblichen Kosten des Speicherns vermutet; die Spannen sagen, wie weit sie danebenliegen kann.
split-guess-plain = Evaluierung und Checkpoint lassen sich in diesem Log nicht trennen: Jedes Speichern kommt mit einer Evaluierung. Die Aufteilung ist aus den üblichen Kosten des Speicherns vermutet; die Spannen sagen, wie weit sie danebenliegen kann.
split-not-yet = Was ein Speichern kostet, ist noch nicht auflösbar: Dazu braucht es etwa { $needed } Evaluierungen mit und ohne Speichern, das Log hat { $count }.
split-settle = Um es zu klären, versehen Sie die Zeilen mit Zeitstempeln: { $command }
stamps-unusable = Die Zeitstempel an den Zeilen widersprechen den ausgegebenen Zeiten (eine blockweise gepufferte Pipe?) und werden nicht verwendet. Starten Sie python mit -u.
arrivals-unused = Die aufgezeichnete Ankunft der Zeilen widerspricht den Zeiten, die sie ausgeben; es gelten die ausgegebenen.
evidence-marker = folgt auf „{ $line }“
evidence-markers = folgt auf „{ $line }“ und „{ $save }“
evidence-first = die erste Iteration des Prozesses: Kompilieren und erster Zugriff
evidence-unprinted = eine Iteration, bei der dieser Trainer immer evaluiert; ihre Zeile fehlt im Log
evidence-inside = von innen gemessen: { $parts }
evidence-none = keine Zeile sagt, warum; { $duration } mehr als ihre Nachbarn

## Wann es fertig ist

finish-left = noch { $duration } ({ $span } bei { $confidence })
finish-at = fertig um { $time } ({ $low } – { $high })
finish-from-flag = gerechnet ab { $time }, wie angegeben
finish-from-stamp = gerechnet ab { $time }, dem letzten Zeitstempel im Log
finish-from-stamp-plus = gerechnet ab { $time }, dem letzten Zeitstempel, plus { $duration } an Iterationen, die danach ausgegeben wurden
finish-from-no-year = { $text }; ein Jahr steht nicht dabei, { $year } ist nach der Dateizeit angenommen
finish-from-no-day = { $text }; ein Datum steht nicht dabei, der Tag ist nach der Dateizeit angenommen
finish-from-nvidia-smi = gerechnet ab { $time }, der Uhrzeit in der nvidia-smi-Tabelle
finish-from-mtime = gerechnet ab { $time }, als die Datei zuletzt geschrieben wurde
finish-from-clock = gerechnet ab jetzt, { $time }
finish-ended = Der Lauf ist zu Ende; so viel bräuchte er noch, wenn er jetzt ab seiner letzten Iteration fortgesetzt würde.
finish-complete = Der Lauf ist vollständig: Iteration { $step } von { $total }.
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
left-priced = { $what }: { $duration }
left-unpriced = { $what }: Kosten unbekannt
left-line = Noch zu tun: { $items }.
finish-next-evaluation = Nächste Evaluierung bei Iteration { $step }.
rough-own = Noch etwa { $duration } nach der eigenen Angabe des Trainers; aus diesen Zeilen allein folgt keine bessere.
rough-own-first = Etwa { $duration } übrig nach der eigenen Angabe des Trainers. Sie beruht auf der ersten und einzigen Iteration, die den Start enthält: spätere sind meist schneller.
rate-and-time = { $rate } { $unit } pro Sekunde und { $duration } pro Iteration ergeben { $count } { $unit } pro Iteration.
skipped-few = { $count ->
    [one] Ein Optimizer-Schritt wurde
   *[other] { $count } Optimizer-Schritte wurden
} bisher übersprungen.
finish-last-event = Das Letzte darin gehört zur Phase „{ $phase }“ (Zeile { $line }); danach ist keine Iteration ausgegeben.
rough-bar = Noch etwa { $duration } bis zum Ende dieses Fortschrittsbalkens, der zu nur einer von mehreren Epochen gehören kann.
rough-few = Noch etwa { $duration } bei diesem Tempo{ $range }: eine schwache Schätzung aus sehr wenigen Zeilen.
rough-first = Noch etwa { $duration }, falls alle Iterationen so lange dauern wie diese erste und einzige, die den Start enthält{ $range }: eine schwache Schätzung.
finish-none = Keine Endzeit: { $reason }
finish-rate = Bei derzeit { $duration } je Iteration dauern 1.000 weitere { $thousand }.
finish-rate-evaluations = Bei derzeit { $duration } je Iteration dauern 1.000 weitere mit { $count ->
        [one] der Auswertung
       *[other] den { $count } Auswertungen
    } dazwischen { $thousand }.
reason-no-steps = Das Log enthält noch keine normale Iteration mit Zeit. Fragen Sie nach einigen weiteren Zeilen wieder.
reason-no-times = Das Log hat Iterationen, aber ohne Zeiten: Nichts darin sagt, wie lange eine gedauert hat.
reason-no-total = Das Log sagt nicht, wie viele Iterationen der Lauf hat. Geben Sie --max-steps N an, oder --config mit den Einstellungen des Laufs.
reason-implausible-total = die angegebene Gesamtzahl von { $total } Iterationen ist unglaubwürdig: Im jetzigen Tempo dauerten sie noch { $left }. --max-steps N angeben.
reason-too-few = { $count ->
    [one] Erst eine normale Iteration wurde ausgegeben; für ein Tempo braucht es drei. Fragen Sie nach einigen weiteren Zeilen wieder.
   *[other] Erst { $count } normale Iterationen wurden ausgegeben; für ein Tempo braucht es drei. Fragen Sie nach einigen weiteren Zeilen wieder.
  }
assume-level = Der Rest läuft auf dem jetzigen Niveau, { $duration } je Iteration.
assume-no-evaluations = Evaluierungen sind nicht mitgezählt: Wie oft sie kommen, ist unbekannt. Geben Sie --set eval_interval=N an.
assume-evaluations-unannounced = Kommende Evaluierungen sind geschätzt: Wie oft sie kommen, ist unbekannt, aber seit dem ersten Schritt kam keine. Geben Sie --set eval_interval=N an.
assume-evaluation-unpriced = Evaluierungen sind nicht mitgezählt: Noch keine wurde gemessen, und wie viele Batches eine braucht, ist unbekannt. Geben Sie --set eval_iters=N an.
assume-evaluation-prior = Noch keine Evaluierung wurde gemessen: Ihre Kosten sind aus der Zahl der Forward-Pässe berechnet.
assume-save-prior = Noch kein Speichern wurde gemessen: Angesetzt ist, was es üblicherweise kostet.
assume-evaluation-outside = Die Uhr dieses Logs steht während der Evaluierungen, und nichts anderes sagt, was sie kosten: Die Restzeit zählt auf dieser Uhr, ohne sie.
assume-saves = Auf { $share } der Evaluierungen folgt ein Speichern, wie zuletzt.
assume-default-interval = Evaluierungen werden alle { $count } Iterationen angenommen, wie der Trainer es mitbringt; das Log sagt es noch nicht. Geben Sie --set eval_interval=N an.
assume-default-total = Die Zahl der Iterationen, { $count }, ist die Vorgabe des Trainers und steht nirgends.

## Was zu ändern ist

change-none = Nichts, was sich lohnt: Evaluieren und Speichern kosten { $share } der Zeit.
change-unknown = Kein Rat: Dieses Log zeigt nicht, was Evaluierungen kosten.
change-scope-rest = Gespart am Rest dieses Laufs; die Ersparnisse addieren sich nicht.
change-scope-run = Gespart an einem Lauf wie diesem; die Ersparnisse addieren sich nicht.
change-line = { $change }: spart { $duration } ({ $span })
advice-a101-costs = Der Validierungs-Loss ist { $factor }-mal seltener zu sehen; wird nur nach einer Evaluierung gespeichert, kostet ein Absturz bis zu { $steps } Iterationen ({ $duration }).
advice-a101-evidence = { $count } Evaluierungen zu je { $duration } sind { $share } der Zeit. Ein größeres Intervall bedeutet weniger davon.
advice-a102-costs = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }.
advice-a102-costs-unknown = Der Standardfehler des Validierungs-Loss wächst auf das { $factor }-Fache; für den Ausgangswert hat dieses Log zu wenige Loss-Werte.
advice-a102-evidence = Jede Evaluierung rechnet { $count } Batches aus { $splits ->
    [one] einem Split
   *[other] { $splits } Splits
  }; die Kosten wachsen mit ihrer Zahl, die Genauigkeit mit deren Wurzel.
advice-a103-costs = Der Trainings-Loss der Evaluierung wird nicht mehr ausgegeben; das Mittel der Iterationszeilen sagt dasselbe. Dazu muss estimate_loss in train.py geändert werden.
advice-a103-evidence = Die Hälfte jeder Evaluierung misst den Trainings-Split, dessen Loss die Iterationszeilen ohnehin ausgeben.
advice-a104-costs = Nach einem Absturz geht es vom besten Checkpoint weiter, nicht vom letzten.
advice-a104-evidence = Speichern ist { $share } der Zeit; von den letzten Evaluierungen haben { $improving } die bis dahin beste verbessert.

## Alarme

alarm-nan = { $count ->
    [one] Der Loss ist ab Iteration { $step } NaN oder unendlich (einmal im Log). Was folgt, trainiert ins Leere.
   *[other] Der Loss ist ab Iteration { $step } NaN oder unendlich ({ $count }-mal im Log). Was folgt, trainiert ins Leere.
  }
alarm-oom = Speicher erschöpft: { $text }
alarm-crash = Traceback oder tödliches Signal: { $text }
alarm-interrupted = Der Lauf wurde unterbrochen: { $text }
alarm-ended-early = Der Lauf endete vorzeitig, nach Iteration { $step } von { $total }.
alarm-ended-early-unknown = Der Lauf endete nach Iteration { $step }; wie viele geplant waren, steht nicht im Log.
alarm-ended-before-steps = Der Lauf endete, bevor die erste Iteration fertig war.
alarm-restarted = { $count ->
    [0] Der Lauf wurde nach Iteration { $before } neu gestartet, bei { $step }.
    [one] Der Lauf wurde nach Iteration { $before } neu gestartet, bei { $step }: Eine Iteration ({ $lost }) wurde zweimal gerechnet.
   *[other] Der Lauf wurde nach Iteration { $before } neu gestartet, bei { $step }: { $count } Iterationen ({ $lost }) wurden zweimal gerechnet.
  }
alarm-slowdown = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, jetzt { $after }.
alarm-contradiction = { $setting } ist mit { $stated } angegeben, aber das Log zeigt { $seen }; das Log gilt.
alarm-contradiction-mfu = { $setting } ist mit { $stated } angegeben, aber die gedruckten mfu und Zeiten passen zu { $seen }: Prüfen Sie die Konfiguration, oder ob diese Kopie des Trainers ihre mfu auf die Spitzenleistung einer anderen Karte bezieht.
state-total = Iteration { $step } von { $total } ist die letzte
state-words = das Log sagt: { $text }
state-last-printed = Iteration { $step } ist die letzte, die von { $total } ausgegeben wird, und was danach kommt, ist erledigt
state-after-stop = das Log endet direkt nach einer Evaluierung oder einem Checkpoint, die darin selten sind; nichts deutet darauf hin, dass noch etwas kommen sollte
state-silent = das Log endet ohne ein Wort, und nichts sagt, wann es geschrieben wurde
state-last-written = das Log endet ohne ein Wort; zuletzt wurde es um { $at } geschrieben, üblich sind { $usual } zwischen zwei Zeilen
reason-over-state-total = Der Lauf ist vollständig: Iteration { $step } von { $total }.
reason-over-state-words = Der Lauf ist zu Ende. Das Log sagt: { $text }
reason-over-state-last-printed = der Lauf ist abgeschlossen: Iteration { $step } ist die letzte, die von { $total } ausgegeben wird.
state-exit = der Befehl endete mit Exit-Code { $code }
state-signal = der Befehl wurde durch { $name } beendet (Exit-Code { $code })
reason-over-state-exit = der Lauf ist zu Ende: Der Befehl endete mit Exit-Code { $code }.
reason-over-state-signal = der Lauf ist zu Ende: Der Befehl wurde durch { $name } beendet (Exit-Code { $code }).
alarm-crash-code = Traceback oder tödliches Signal: { $text } (Exit-Code { $code })
alarm-exit-code = Der Befehl schlug mit Exit-Code { $code } fehl; seine Ausgabe sagt nicht, warum.
alarm-signal = Der Befehl wurde durch { $name } beendet (Exit-Code { $code }).
alarm-killed = Der Befehl wurde durch { $name } abgeschossen (Exit-Code { $code }), oft weil der Speicher nicht reichte; dmesg sagt es dann.
alarm-walltime = Der Job endet um { $time }; bis dahin ist der Lauf mit { $share } Wahrscheinlichkeit fertig (Iteration { $step } von { $total } ist die letzte, die sich rechtzeitig speichern lässt).
alarm-save-now = Jetzt speichern: Der Job endet um { $time }, und Iteration { $step } ist die letzte, die sich rechtzeitig speichern lässt.
alarm-nan-passed = { $count ->
    [one] Ein Loss ist keine Zahl, bei Iteration { $step }; ab Iteration { $later } sind die Losses wieder endlich.
   *[other] { $count } Losses sind keine Zahlen, der erste bei Iteration { $step }; ab Iteration { $later } sind sie wieder endlich.
}
alarm-nan-unread = { $count } Zeilen drucken einen Loss, der keine Zahl ist; die erste ist Zeile { $line }.
alarm-skipped-steps = { $count } von { $total } Optimizer-Schritten ({ $share }) wurden übersprungen: Ihre Gradienten waren nicht endlich, also änderte sich kein Gewicht.
alarm-skipped-since = Seit Iteration { $step } wurde jeder Optimizer-Schritt übersprungen, bis Iteration { $last }: Kein Gewicht ändert sich mehr.
alarm-memory-pressure = { $count } Zeilen sagen, dass der Speicher der Karte so voll ist, dass PyTorch seinen Cache zurückgibt, was die Iterationen bremst: { $text }
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
note-title-none = Wohin die Zeit eines Trainingslaufs ging
note-title-eta = Geschätzte Trainingszeit: { $duration }
note-title-eta-none = Geschätzte Trainingszeit: noch nicht bekannt
note-intro = { $count ->
    [one] In { $lines } Log-Zeilen fand sich eine langsame Iteration.
   *[other] In { $lines } Log-Zeilen fanden sich { $count } langsame Iterationen.
  }
note-intro-none = In { $lines } Log-Zeilen fand sich keine langsame Iteration.
note-explained = { $count ->
    [one] Es ist kein langsamer Trainingsschritt: Die Uhr des Trainers läuft vom Ende einer Iteration bis zum Ende der nächsten, sodass eine Evaluierung, ein Checkpoint oder ein Kompilieren dazwischen bei der folgenden Iteration mitgezählt wird.
   *[other] Es sind keine langsamen Trainingsschritte: Die Uhr des Trainers läuft vom Ende einer Iteration bis zum Ende der nächsten, sodass eine Evaluierung, ein Checkpoint oder ein Kompilieren dazwischen bei der folgenden Iteration mitgezählt wird.
  }
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
note-interval = Spanne: { $span }, bei { $confidence }.
note-hardware-assumed = Laut nvidia-smi: { $details }.
note-assumptions = Angenommen:

## Befehle

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = Ihre Zeitangabe umfasst: { $covers }; darin enthalten: { $includes }.
formats-lines = Zeilen, die es kennt:
formats-try-none = Kein Format im Katalog erkennt diese Datei.
formats-try-claimed = { $name }: { $count } von { $lines } Zeilen erkannt, davon { $steps } mit einer Iteration
demo-intro = Der Referenzfall: nanoGPT auf einer RTX 4070, gefragt um 02:30. Dasselbe von Hand: { $command }
written = geschrieben: { $path }
error-title = Fehler
error-try = Abhilfe

## Fehler

error-no-such-file = keine solche Datei
    .hint = { $nearby ->
        [none] prüfen Sie den Pfad; ein Ordner, - für die Standardeingabe und .gz, .xz, .zst gehen auch
       *[other] meinten Sie { $nearby }?
      }
error-unreadable = nicht lesbar: { $reason }
    .hint = prüfen Sie die Rechte: ls -l { $place }
error-folder-without-log = in diesem Ordner ist kein Trainings-Log
    .hint = nennen Sie die Datei selbst: stepscope { $place }/train.log
error-empty = die Datei ist leer
    .hint = wird die Ausgabe des Trainers gepuffert? Starten Sie python mit -u und fragen Sie wieder, wenn etwas ausgegeben ist
error-binary = keine Textdatei
    .hint = nennen Sie, was der Trainer ausgegeben hat, zum Beispiel: python -u train.py | tee train.log
error-broken-archive = eine komprimierte Datei, die sich nicht entpacken lässt: { $reason }
    .hint = entpacken Sie von Hand, was noch da ist: zcat { $place } | stepscope -
error-broken-database = eine Datenbank, die sich nicht lesen lässt: { $reason }
    .hint = mit sqlite3 { $place } .recover retten, was geht, oder die Metriken als CSV ausgeben
error-no-metrics-table = eine Datenbank ohne Tabelle namens metrics: Sie ist nicht von MLflow
    .hint = das Protokoll des Trainings angeben oder seine Metriken als CSV oder JSON-Zeilen ausgeben
error-not-a-training-log = kein Format erkennt diese Datei, und ihr Aufbau ist nicht der eines Trainingslogs
    .hint = stepscope formats try { $path } --suggest     zeigt, wie weit jedes Format kommt und wie man ein neues beibringt
error-no-format-fits = kein Format erkennt diese Datei; Zeilen wie diese sind vielleicht Iterationen, aber welche ihrer Zahlen der Schritt oder die Zeit ist, ließ sich nicht feststellen
    .hint = stepscope formats try { $path } --suggest     zeigt, wie weit jedes Format kommt und wie man ein neues beibringt
error-no-such-config = keine solche Config-Datei
    .hint = --config erwartet die Datei, mit der der Lauf gestartet wurde, zum Beispiel config/train_gpt2.py
error-config-is-folder = die Config ist ein Ordner
    .hint = nennen Sie die Datei selbst
error-config-too-large = zu groß für eine Config-Datei
    .hint = ist das das Log? stepscope { $place }
error-config-not-text = die Config ist keine Textdatei
    .hint = --config erwartet nanoGPTs config.py, JSON oder TOML
error-config-syntax = die Config lässt sich nicht lesen: { $reason }
    .hint = berichtigen Sie sie, oder geben Sie an, worauf es ankommt: --set max_iters=20000 --set eval_interval=500
error-config-too-deep = die Config ist mehr als { $limit } Ebenen tief verschachtelt
    .hint = gib nur an, worauf es ankommt: --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = die Config enthält mehr als { $limit } Werte, wenn man ihre Aliase ausschreibt
    .hint = gib nur an, worauf es ankommt: --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = keine Tabelle von nvidia-smi
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = über diese Pipe kamen mehr als { $size }
    .hint = eine einzelne Ausgabe speichern: nvidia-smi > smi.txt
error-bad-setting = --set erwartet schlüssel=wert
    .hint = zum Beispiel: --set eval_interval=500
error-unknown-setting = keine Einstellung dieses Namens
    .hint = { $nearest ->
        [none] es gibt: { $known }
       *[other] meintest du { $nearest }?
      }
error-bad-count = { $setting } ist eine ganze Zahl ab 1
    .hint = zum Beispiel: --set { $setting }=500
error-bad-max-steps = --max-steps erwartet eine ganze Zahl ab 1
    .hint = zum Beispiel: --max-steps 20000
error-bad-moment = kein Zeitpunkt: { $text }
    .hint = zum Beispiel: --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence liegt zwischen 0.5 und 0.99
    .hint = zum Beispiel: --confidence 0.9
error-bad-language = keine solche Sprache: { $text }
    .hint = { $nearest ->
        [none] es gibt: { $known }
       *[other] meintest du { $nearest }?
      }
error-bad-choice = { $flag } kann nicht { $text } sein
    .hint = { $nearest ->
        [none] es gibt: { $known }
       *[other] meintest du { $nearest }?
      }
error-no-such-command = kein Befehl dieses Namens
    .hint = { $nearest ->
        [none] es gibt: { $known }
       *[other] meintest du { $nearest }?
      }
error-unknown-flag = keine solche Option: { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     zeigt, was es gibt
       *[other] meintest du { $nearest }?
      }
error-unknown-command = weder ein Befehl noch eine Datei
    .hint = meintest du: stepscope { $nearest }
error-too-many-arguments = mehr Argumente, als { $command } annimmt
    .hint = { $command } --help     zeigt, was es gibt
error-wrong-usage = { $reason }
    .hint = { $command } --help     zeigt, was es gibt
error-missing-argument = ein Argument fehlt: { $missing }
    .hint = { $command } --help     zeigt, was es gibt
error-missing-value = { $flag } braucht einen Wert
    .hint = { $command } --help     zeigt, was es gibt
error-languages-need-folder = mehrere Sprachen ergeben mehrere Dateien
    .hint = nennen Sie einen Ordner dafür: -o notizen/
error-no-such-format = kein Format dieses Namens
    .hint = { $nearest ->
        [none] stepscope formats     zählt sie auf
       *[other] meintest du { $nearest }?
      }
error-no-such-code = keine Seite mit diesem Code
    .hint = es gibt: { $known }
error-cannot-write = kann nicht schreiben: { $reason }
    .hint = nennen Sie mit -o einen anderen Ort
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
plan-memory-optimizer = Optimierer
plan-memory-activations = Aktivierungen
plan-memory-logits = Logits
plan-memory-context = CUDA-Kontext
plan-row-memory = Speicher (GiB)
plan-row-largest = größte batch_size
plan-row-step = Iteration
plan-row-band = … 90-%-Band
plan-row-tokens = Tokens pro Sekunde
plan-row-utilisation = MFU dieser Karte
plan-row-evaluation = eine Evaluierung
plan-row-checkpoint = ein Checkpoint
plan-row-total = ganzer Lauf
plan-row-finish = fertig um
plan-row-energy = Energie
plan-row-cost = Kosten
plan-fits = { $used } von { $total }
plan-fits-barely = { $used } von { $total }, knapp
plan-fits-not = { $used } von { $total }, zu viel
plan-fits-nothing = { $gpu }: Nicht einmal eine Sequenz passt in ihren Speicher. Nimm ein kleineres Modell oder einen kürzeren Kontext.
plan-calibrating = messe diesen Rechner …
plan-note-calibrated = Hier gemessen ({ $gpu }): { $tflops } TFLOPS, Speicher { $bandwidth } GB/s, Platte { $disk } MB/s.
plan-note-defaults = Nicht angegeben, daher die Vorgaben des Trainers: { $names }.
plan-note-derived = Die Größe des Modells ist nicht angegeben. Zu { $duration } für { $tokens } Tokens auf { $gpu } passen { $low } bis { $high } Parameter; die Tabelle nimmt eine Größe dazwischen. Gib sie an, um sicher zu sein: --params, oder n_layer und n_embd in der Konfiguration.
plan-note-derived-memory = Die Größe des Modells ist nicht angegeben. Zu { $duration } für { $tokens } Tokens auf { $gpu } und zum belegten Speicher passen { $low } bis { $high } Parameter; die Tabelle nimmt eine Größe dazwischen. Gib sie an, um sicher zu sein: --params, oder n_layer und n_embd in der Konfiguration.
error-unknown-card = keine Karte dieses Namens
    .hint = zum Beispiel: { $known }
error-plan-needs-card = welche Karte?
    .hint = nenne sie: --gpu 4070, oder mehrere: --gpu 4070,4080,4090; oder miss diesen Rechner: --calibrate
error-plan-needs-model = welches Modell?
    .hint = --config config/train_gpt2.py, oder --params 124M, oder --layers 12 --hidden 768
error-plan-shape-missing = der Konfiguration fehlt, was die Größe eines Modells bestimmt: { $names }
    .hint = ergänze es mit --set, oder gib die Größe an: --params 7B
error-plan-bad-shape = kein Modell hat eine solche Form
    .hint = zum Beispiel: --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = keine Zahl von Parametern
    .hint = zum Beispiel: --params 124M
error-bad-devices = --devices ist eine ganze Zahl ab 1
    .hint = zum Beispiel: --devices 8
error-bad-price = kein Preis
    .hint = zum Beispiel: --price 0.40/h oder --price 0.30/kWh
error-plan-from-needs-card = welche Karte hat dieses Log geschrieben?
    .hint = --from-gpu 4070, oder eine gespeicherte Tabelle: --nvidia-smi nvidia-smi.txt
error-plan-needs-context = wie viele Tokens hat eine Sequenz? Das Log sagt es nicht
    .hint = zum Beispiel: --context 1024
error-plan-log-untimed = in diesem Log steht keine normale Iteration mit Zeit zum Kalibrieren
    .hint = plane ohne es, oder frage wieder, wenn es ein paar Zeilen mehr hat
error-plan-not-derived = kein Modell üblicher Form braucht auf dieser Karte so lange: Stimmen Karte und Batch?
    .hint = gib das Modell an: --params 124M
## Several trainings, several writers
alarm-trainings = Das Log enthält { $count } Trainings nacheinander. Diese Antwort gilt dem letzten, ab Zeile { $line }; die Sekunden der anderen stehen in der Aufstellung.
alarm-writers = { $count ->
    [one] Zwei Prozesse schreiben in dieses Log. Eine Iteration des anderen ist nicht mitgezählt.
   *[other] Zwei Prozesse schreiben in dieses Log. { $count } Iterationen des anderen sind nicht mitgezählt.
  }
alarm-straggler = Rang { $rank } ist um { $share } langsamer als die anderen: { $own } pro Iteration statt { $others }. Alle Ränge warten auf ihn.
alarm-straggler-host = Rang { $rank } auf { $host } ist um { $share } langsamer als die anderen: { $own } pro Iteration statt { $others }. Alle Ränge warten auf ihn.

## Mehr Rat, und was eine Änderung täte

advice-a102-costs-seen = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }; der Loss fällt noch um { $gain } je Evaluierung, das bleibt sichtbar.
advice-a102-costs-unseen = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }; der Loss fällt um { $gain } je Evaluierung, das zeigt eine einzelne Evaluierung dann nicht mehr.
advice-a105-costs = Die Kurve wird glatter, aber ihr Niveau liegt um einen festen Betrag von etwa { $offset } daneben: am Ende einmal mit vielen Batches messen. Dazu muss die Evaluierung geändert werden: jedes Mal derselbe Startwert für ihre Batches.
advice-a105-costs-unknown = Die Kurve wird glatter, aber ihr Niveau liegt um einen festen Betrag daneben: am Ende einmal mit vielen Batches messen. Dazu muss die Evaluierung geändert werden: jedes Mal derselbe Startwert für ihre Batches.
advice-a105-evidence = Jede Evaluierung zieht { $count } neue Batches. Mit jedes Mal denselben sind Unterschiede bei gleichen Kosten 4- bis 7,6-mal weniger verrauscht; dann zeigen { $fewer } den Verlauf.
advice-a107-costs = Nur eine Änderung im Code: Jeder Rang evaluiert seinen Teil derselben Batches, die Losses werden gemittelt.
advice-a107-evidence = Einer von { $count } Rängen evaluiert, während die anderen warten.
advice-a108-costs = Ein Absturz kostet bis zu { $duration } Arbeit.
advice-a108-evidence = Ein Speichern hält das Training { $duration } auf; bei einem Absturz alle { $between } ist nach Dalys Regel { $best } der beste Abstand.
advice-a109-costs = Hauptspeicher für eine Kopie des Zustands, und etwas langsamere Iterationen, während sie geschrieben wird.
advice-a109-evidence = Das Training steht { $share } der Zeit für das Speichern still.
advice-a111-costs = Von Zyklen gehaltener Speicher wird nur frei, wenn man ihn von Hand einsammelt, alle paar tausend Iterationen.
advice-a111-evidence = Die Speicherbereinigung kostet { $share } der Zeit.
advice-a112-costs = Hauptspeicher und Rechenzeit für die Ladeprozesse.
advice-a112-evidence = Das Warten auf Daten kostet { $share } der Zeit.
advice-a113-costs = Dieselben Tokens je Iteration: batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Nur die Rundung der Summe ist eine andere. Reicht der Speicher nicht, zurückgehen.
advice-a113-evidence = Nur { $share } des Speichers der Karte sind belegt.
advice-a114-costs = float16 braucht eine Skalierung des Loss, die nanoGPT, Hugging Face und Lightning selbst machen; die Losses weichen leicht ab.
advice-a114-evidence = { $gpu } hat kein bfloat16 in Hardware: Es wird mit etwa einem Zehntel der Geschwindigkeit nachgebildet.
advise-paste = eingeben: { $paste }
advise-keeps = Ändert nicht, was gelernt wird.
advise-changes = Ändert, was gelernt wird.
section-whatif = Was das ändern würde
whatif-change = { $setting }: { $now } → { $then }
whatif-saves = Spart { $duration } ({ $span }).
whatif-costs = Kostet { $duration } mehr ({ $span }).
whatif-same = Ändert an der Zeit nichts.
whatif-left = Noch { $duration } statt { $before } ({ $span } bei { $confidence })
whatif-run = Ein Lauf wie dieser dauert { $duration } statt { $before }.
whatif-precision = Der Standardfehler des Validierungs-Loss geht von { $before } auf { $after }.
whatif-unknown = Was { $names } an der Zeit ändern würde, kann dieses Log nicht sagen.
error-bad-change = --change erwartet name=wert
    .hint = zum Beispiel: --change eval_interval=1000
error-bad-change-value = { $setting } ist eine ganze Zahl ab 1
    .hint = zum Beispiel: --change { $setting }=500

## Die Karte

card-mfu = { $gpu }: { $share } ihrer { $peak } TFLOPS (MFU, gemessen am eigenen Maximum dieser Karte).
card-normal = Das ist für sie normal: Ein Modell dieser Größe sollte { $span } brauchen.
card-slow = Das ist für sie langsam: Ein Modell dieser Größe sollte { $span } brauchen.
card-fast = Das ist schneller als erwartet: Ein Modell dieser Größe sollte { $span } brauchen.
alarm-hang = Ein Rang antwortet nicht mehr, die anderen haben aufgegeben: { $text }
alarm-false-done = Zeile { $line } sagt, das Training sei fertig, aber die letzte Iteration ist { $step } von { $total }.
alarm-false-done-empty = { $count ->
    [one] Zeile { $line } sagt, das Training sei fertig, aber dieser Start ist vor der ersten Iteration abgestürzt.
   *[other] Zeile { $line } und insgesamt { $count } solche Zeilen sagen, das Training sei fertig, aber diese Starts sind vor der ersten Iteration abgestürzt.
  }

## Der Trainer

train-loading = PyTorch wird gestartet, die Daten werden vorbereitet …
train-progress = Iteration { $iteration } von { $last }, noch { $left }
train-doing-evaluation = Iteration { $iteration } von { $last }: Auswertung …
train-doing-checkpoint = Iteration { $iteration } von { $last }: Checkpoint wird beiseite kopiert …
train-doing-compile = wird kompiliert …
train-doing-sampling = { $last } Iterationen fertig: schreibt eine Probe …
train-doing-waiting = wartet, bis der letzte Checkpoint auf der Platte ist …
train-opening-what = Ein kleines GPT ({ $layers } Schichten, { $width } breit) lernt Python aus den Quellen der Standardbibliothek: { $iterations } Iterationen auf { $device }, ein paar Minuten.
train-opening-when = Alle { $interval } Iterationen wird es ausgewertet und in { $folder } gesichert; Strg-C sichert es und zeigt den Befehl zum Weitermachen.
train-opening-end = Am Ende: was es bis dahin schreibt und wohin die Zeit ging.
train-sample-before = Was es schrieb, bevor es etwas gelernt hatte:
train-sample = Was es nach { $iteration } Iterationen schreibt:
train-ledger = Wohin { $wall } gingen ({ $iterations } Iterationen):
train-phase-data = Daten holen
train-phase-forward = vorwärts (forward)
train-phase-backward = rückwärts (backward)
train-phase-optimizer = Optimierer
train-phase-device = Warten auf das Gerät
train-phase-evaluation_train = Auswertung, Trainingsteil
train-phase-evaluation_val = Auswertung, Validierungsteil
train-phase-checkpoint_staging = Checkpoint: beiseite kopieren
train-phase-checkpoint_waiting = Checkpoint: Warten auf den Schreiber
train-phase-logging = Protokoll
train-phase-gc = Speicherbereinigung
train-phase-compile = Kompilieren
train-phase-startup = Start
train-phase-sampling = Text erzeugen
train-phase-other = Sonstiges
train-saves = { $count ->
    [one] Ein Checkpoint von { $size } MB, in { $written } im Hintergrund geschrieben; der Lauf stand { $stalled } still: { $saved } gespart gegenüber dem Warten auf die Platte.
   *[other] { $count } Checkpoints von je { $size } MB, in { $written } im Hintergrund geschrieben; der Lauf stand { $stalled } still: { $saved } gespart gegenüber dem Warten auf die Platte.
  }
train-interference = Iterationen während des Schreibens dauerten das { $ratio }-Fache der anderen.
train-more = Checkpoint und Protokolle: { $folder }. Weiter: stepscope sample --out_dir={ $folder }, oder stepscope { $folder }
train-stopped = { $signal }: vor Iteration { $iteration } angehalten und gesichert. Weiter mit: { $command }
train-no-wandb = wandb_log ist an, aber wandb ist nicht installiert (pip install wandb). Das Training geht weiter; seine Zahlen stehen in steps.jsonl im Ordner des Laufs.
train-no-tensorboard = tensorboard ist an, aber TensorBoard ist nicht installiert (pip install tensorboard). Das Training geht weiter; seine Zahlen stehen in steps.jsonl im Ordner des Laufs.
train-no-tracker = { $name } ließ sich nicht starten ({ $reason }). Das Training geht ohne weiter.
train-kept = Die Protokolle und der beste Checkpoint des vorigen Laufs in diesem Ordner liegen in { $folder }.
train-unknown-setting = { $setting } in { $path } ist keine Einstellung dieses Trainers und bewirkt nichts.
train-bf16-crashes = bfloat16 stürzt auf dieser CPU ab (in einem Kindprozess versucht): Training in float32.
train-bf16-slower = bfloat16 braucht auf dieser CPU das { $ratio }-Fache von float32 (in einem Kindprozess versucht): Training in float32.
train-cuda-only = { $dtype } gibt es nur mit CUDA: Training in float32 auf { $device }.
train-staging = Checkpoints halten eine Kopie von { $size } GB im Hauptspeicher, damit das Training nicht auf die Platte wartet (--staging=False wartet und hält keine).
train-staging-tight = Checkpoints halten eine Kopie von { $size } GB im Hauptspeicher, frei sind { $left } GB: Mit --staging=False gibt es keine Kopie, und das Training wartet auf die Platte.
train-broken-checkpoint = Kein vollständiger Checkpoint, der vorige wird versucht: { $path } ({ $reason }).
train-from-checkpoint = { $setting } ist im Checkpoint { $value }, und das gilt; verlangt war { $asked }.
train-other-batches = Die Batches sind nicht die des Checkpoints (andere Größen, Auswertung oder Prozesszahl): Die Datenfolge beginnt von vorn.
train-save-failed = ALARM: Der Checkpoint von Iteration { $iteration } wurde nicht geschrieben: { $reason }. Das Training geht weiter; der vorige Checkpoint ist unberührt.
data-ready = { $folder }: { $train } Tokens zum Trainieren, { $val } zum Validieren
data-use = Verwenden: { $command }
data-download = { $url } wird geladen …
train-shard-alone = shard hat mit einem Prozess keine Wirkung: torchrun startet mehrere.
selftest-begins = { $count } Teile des Trainers werden auf { $device } ausprobiert:
selftest-pass = gut
selftest-fail = FEHL
selftest-ends = { $failed ->
    [0] Alle Teile funktionieren.
    [one] { $failed } von { $count } Teilen ist fehlgeschlagen.
   *[other] { $failed } von { $count } Teilen sind fehlgeschlagen.
}
selftest-precision = Loss { $loss } in { $dtype }, { $other } in float32
selftest-compile = Loss { $loss } kompiliert, { $other } ohne Kompilieren
selftest-memory = eine Evaluation mit { $sequences } Sequenzen braucht { $evaluation } MB, ein Trainingsschritt { $step } MB
selftest-clock = { $steps } Iterationen ergeben zusammen { $counted } s, die Schleife dauerte { $loop } s
selftest-checkpoint = { $differing } Tensoren weichen vom Moment des Speicherns ab; längste Unterbrechung { $stall } s
selftest-resume = { $differing } von { $steps } Losses und { $tensors } Tensoren weichen vom ununterbrochenen Lauf ab
selftest-sample = { $tokens } Tokens, beide Male dieselben
selftest-muon = Singulärwerte einer Aktualisierung von { $least } bis { $most } in { $dtype }
selftest-processes = zwei Prozesse über { $backend }: Losses weichen von denen eines Prozesses um { $worst } ab
selftest-shard = zwei Prozesse mit Teilen des Modells über { $backend }: Losses weichen von denen eines Prozesses um { $worst } ab
export-done = { $path }: { $size } MB, vor Iteration { $iteration }
error-train-no-slices = hier liegt kein Checkpoint in Teilen
    .hint = einer von train --shard=True ist ein Ordner dieses Namens; ckpt.pt braucht keinen Export
error-train-no-torch = zum Trainieren braucht es PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } erwartet einen Wert vom Typ { $wanted }
    .hint = zum Beispiel: --{ $setting }=… mit einem { $wanted }, wie in nanoGPT
error-train-choice = diesen Wert von { $setting } gibt es nicht
    .hint = es gibt: { $known }
error-train-range = { $setting } liegt außerhalb des Bereichs
    .hint = er beginnt bei { $least }; dropout, beta1 und beta2 liegen unter 1
error-train-heads = n_embd muss ein Vielfaches von n_head sein
    .hint = zum Beispiel: --n_embd=384 --n_head=6
error-train-odd-head = rotierende Positionen brauchen Köpfe gerader Breite (n_embd / n_head)
    .hint = zum Beispiel: --n_embd=384 --n_head=6, oder --recipe=nanogpt
error-train-gpt2-recipe = die Gewichte von GPT-2 passen nur zum Netz von GPT-2
    .hint = --recipe=nanogpt
error-train-unknown-character = { $character } kommt im Korpus nicht vor
    .hint = beginne mit Zeichen, die das Netz gesehen hat
error-train-not-saved = das Training ist zu Ende, aber sein letzter Checkpoint (Iteration { $iteration }) wurde nicht geschrieben: { $reason }
    .hint = { $saved ->
        [0] es gibt keinen Checkpoint: Platz schaffen und neu trainieren
       *[other] der neueste vollständige Checkpoint ist der von Iteration { $saved }: Platz schaffen und mit --init_from=resume dort weitermachen
      }
error-train-bad-meta = meta.pkl ist keine von nanoGPT: { $reason }
    .hint = neu anlegen: stepscope data prepare FILE
error-train-no-data = keine Daten dieses Namens
    .hint = anlegen mit stepscope data prepare FILE --out data/{ $name }, oder einen Ordner mit train.bin und val.bin nennen: --dataset=DIR
error-train-short-data = { $tokens } Tokens sind zu wenige für Folgen von { $block_size }, oder die Datei besteht nicht aus 16-Bit-Tokens
    .hint = mehr Text nehmen oder ein kleineres --block_size
error-train-unreadable = nicht lesbar: { $reason }
    .hint = Namen und Rechte prüfen
error-train-vocabulary = Token { $token } passt nicht zu einem Vokabular von { $vocab_size }
    .hint = die Daten gehören nicht zu diesem Checkpoint oder zu meta.pkl: das richtige --dataset nennen oder mit --init_from=scratch beginnen
error-train-no-tiktoken = die Bytepaare von GPT-2 brauchen tiktoken
    .hint = { $install }, oder --tokens char
error-train-tiktoken-download = tiktoken konnte die Tabellen von GPT-2 nicht laden ({ $reason })
    .hint = von einem Rechner kopieren, der sie hat, und TIKTOKEN_CACHE_DIR setzen, oder --tokens char
error-train-no-stdlib = dieses Python hat die Quellen seiner Standardbibliothek nicht dabei
    .hint = einen eigenen Text vorbereiten: stepscope data prepare FILE
error-train-no-safetensors = die Gewichte von GPT-2 brauchen safetensors
    .hint = { $install }
error-train-bad-gpt2 = kein Ordner mit GPT-2-Gewichten: { $reason }
    .hint = er enthält config.json und model.safetensors, wie Hugging Face sie veröffentlicht
error-train-no-gpt2 = hier sind keine Gewichte von { $name }, und es wird nichts geladen
    .hint = hf download openai-community/{ $name } --local-dir { $name }, dann --gpt2_folder={ $name }
error-train-no-checkpoint = kein Checkpoint zum Fortsetzen
    .hint = seinen Ordner mit --out_dir nennen oder mit --init_from=scratch beginnen
error-train-no-whole-checkpoint = kein vollständiger Checkpoint: { $reason }
    .hint = mit --init_from=scratch beginnen oder einen vollständigen dorthin kopieren
error-train-bad-checkpoint = der Checkpoint passt nicht: { $reason }
    .hint = er muss von diesem Trainer oder von nanoGPTs train.py stammen
error-train-block-size = das geladene Netz liest höchstens { $block_size } Tokens
    .hint = --block_size={ $block_size } oder weniger
error-train-accumulation = { $processes } Prozesse können diese Zahl von Mikro-Batches nicht gleich aufteilen
    .hint = gradient_accumulation_steps als Vielfaches von { $processes } wählen
error-train-memory = der Speicher reicht nicht
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } trainiert dieselben Tokens mit weniger Speicher; oder block_size, n_layer oder n_embd verkleinern
error-train-rank-lost = ein anderer Prozess des Laufs ist weg: { $reason }
    .hint = nachsehen, was er gesagt hat, dann alle mit --init_from=resume neu starten
error-selftest-alone = --selftest nimmt keine Einstellungen außer --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile ist gescheitert: { $reason }
    .hint = --compile=False trainiert ohne
error-train-nan = der Verlust ist { $value } bei Iteration { $iteration }: angehalten
    .hint = kleineres learning_rate oder längeres warmup_iters versuchen; ckpt.pt, falls vorhanden, ist von vorher und gut: --init_from=resume
error-sample-no-meta = die Zeichen dieses Netzes stehen in meta.pkl seines Datenordners, und der ist nicht hier
    .hint = starte es dort, wo trainiert wurde: in dem Ordner, der data/{ $name } enthält
error-train-locked = ein anderer Trainer benutzt diesen Ordner (Prozess { $process })
    .hint = gib jedem Lauf einen eigenen Ordner: --out_dir=DIR
error-train-misspelt = eine Einstellung { $setting } gibt es nicht
    .hint = { $meant } gibt es
error-train-out-dir = dort kann nicht geschrieben werden: { $reason }
    .hint = einen anderen Ordner nennen
error-train-device = dieses Gerät gibt es nicht
    .hint = --device=cpu, cuda, cuda:1 oder mps
error-train-no-device = PyTorch findet hier kein { $name }-Gerät
    .hint = --device=cpu --compile=False
error-train-config-expression = { $setting } wüsste man nur durch Ausführen der Datei; Configs werden gelesen, nicht ausgeführt
    .hint = den Wert selbst hinschreiben, oder die Zeile entfernen und ihn als Option geben: --{ $setting }=…
error-data-too-many-characters = { $count } verschiedene Zeichen sind zu viele für 16-Bit-Tokens
    .hint = --tokens gpt2
error-data-empty = kein Text darin
    .hint = eine Datei mit Text nennen; eine .jsonl-Datei hat je Zeile ein Dokument unter "text"
error-data-not-text = kein Text in UTF-8
    .hint = vorher umwandeln, zum Beispiel mit iconv
error-data-bad-record = kein JSON-Eintrag mit "text"
    .hint = ein Dokument je Zeile, mit dem Schlüssel text
error-data-no-download = das Laden ist gescheitert: { $reason }
    .hint = die Datei anders besorgen und nennen: stepscope data prepare shakespeare input.txt
error-data-openwebtext = OpenWebText hat 54 GB und wird hier nicht geladen
    .hint = als .jsonl mit einem "text" je Zeile exportieren und die Dateien nennen: stepscope data prepare openwebtext part-*.jsonl

## Live

live-now = jetzt
live-left = Ende
live-steps = Schritte
live-time = Zeit
live-loss = Loss
live-waiting = warte auf die ersten Zeilen ({ $duration })
live-warmup = startet: Kompilieren, erste Berührung ({ $duration }); noch keine Prognose
live-training = trainiert, letzte Zeile vor { $duration }
live-evaluation = evaluiert seit { $duration }
live-checkpoint = speichert seit { $duration }
live-stalled = seit { $duration } keine Zeile: hängt es?
live-closing = alle Iterationen sind fertig; der Prozess läuft noch
live-finished = fertig
live-ended = vorzeitig beendet
live-usual = (üblich: { $duration })
alarm-stall = Seit { $duration } keine Zeile; üblich wären { $usual }, die Grenze ist { $limit }. Sieh in den Prozess: stepscope attach PID
run-kept = Log und Zeitstempel: { $folder }     stepscope { $folder }
run-kept-partly = Log und Zeitstempel: { $folder }, ohne { $count ->
    [one] ein Byte
   *[other] { $count } Bytes
  } der Ausgabe, für die kein Platz war     stepscope { $folder }
alarm-disk = { $folder } nimmt nichts mehr vom Log auf: { $reason }. Der Befehl läuft weiter, seine Ausgabe erscheint hier bis zum Ende.
alarm-recording-gone = { $folder } wurde gelöscht: Die Aufzeichnung ist verloren. Der Befehl läuft weiter, seine Ausgabe erscheint hier bis zum Ende.
error-run-not-started = der Befehl konnte nicht gestartet werden
    .hint = der Grund steht in dieser Datei
error-run-no-code = der Befehl ist zu Ende, aber niemand hat gesehen, wie: Die Prozesse, die es wüssten, wurden beendet
    .hint = das Log endet mit seiner letzten Ausgabe: stepscope { $place }
error-run-what = was soll laufen?
    .hint = zum Beispiel: stepscope run -- python train.py
error-needs-posix = das geht nur unter Linux und macOS
    .hint = stepscope watch train.log     folgt einem Log auf jedem System
error-needs-extra = dazu wird das Extra { $extra } gebraucht
    .hint = { $install }
error-bad-address = keine Adresse, an die gesendet werden kann
    .hint = zum Beispiel: --notify mailto://user:pass@example.org
error-bad-interval = --interval sind Sekunden, von 0.05 bis 3600
    .hint = zum Beispiel: --interval 2
error-watch-one-log = nur ein Log auf einmal
    .hint = folge dem neuesten Teil des Laufs
live-place = in { $place }
attach-log = sein Log: { $path }
attach-no-stack = Der Stack ist nicht zu sehen ({ $reason }). Als derselbe Benutzer starten oder erlauben: sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = kein solcher Prozess
    .hint = pgrep -af python     zeigt, welche es gibt
error-process-not-ours = dieser Prozess gehört jemand anderem
    .hint = frage als dessen Benutzer: sudo -u BENUTZER stepscope attach { $place }
error-process-without-log = dieser Prozess schreibt auf ein Terminal oder in eine Pipe, nicht in eine Datei
    .hint = nenne sein Log: stepscope attach { $pid } --log train.log; oder starte ihn mit: stepscope run -- CMD
error-bad-speed = --speed ist eine Zahl über 0
    .hint = zum Beispiel: --speed 50
error-replay-file = nur eine Datei kann wiederholt werden
    .hint = speichere sie zuerst: cat > train.log
## Ursachen

cause-accumulation = Akkumulation
cause-announced = angekündigte Arbeit
cause-async-checkpoint = asynchrones Speichern
cause-attention = langsames Rechnen
cause-denormals = denormale Zahlen
cause-heat = Hitze
cause-interruption = Unterbrechung
cause-leak = Wachstum
cause-length = längerer Batch
cause-logging = Loggen
cause-memory = voller Speicher
cause-neighbour = anderes Programm
cause-optimizer = periodische Optimiererarbeit
cause-power = Leistungsgrenze
cause-profiler = Profiler
cause-recompile = Neukompilierung
cause-schedule = Zeitplan
cause-straggler = langsamer Rang
cause-c01-evidence = eine Evaluation von { $duration } steckt in seiner Zeit
cause-c01-rest = die Zeile der Evaluation nennt { $duration }; { $rest } mehr kommen hier mit jeder Auswertung
cause-c01-beside = sie steht neben der Zeile einer Evaluation, wie bei den meisten Evaluationen hier: { $duration } mehr
cause-c01-period = sie kommt im Abstand der Evaluationen, alle { $every } Iterationen ({ $count }-mal), auch wenn keine Zeile es sagt
cause-c02-evidence = ein Speichern von { $duration } steckt in seiner Zeit
cause-c02-period = sie kommt im Abstand der Checkpoints, alle { $every } Iterationen ({ $count }-mal), auch wenn keine Zeile es sagt
cause-c03-evidence = sie kommt gleich nach einem Speichern, und auf { $share } der { $count } Speicherungen folgen langsame Iterationen
cause-c04-evidence = unter den ersten Iterationen des Prozesses: { $duration } Kompilieren und erste Berührung
cause-c05-evidence = die erste Evaluation dauerte { $own }, die { $count } späteren { $others }
cause-c05-level = sie beginnt gleich nach der ersten Evaluation, vor Iteration { $step }
cause-c06-partial = die letzte Iteration einer Epoche von { $count }: ein Teilbatch hat eine andere Form
cause-c06-fading = eine von { $count } langsamen Iterationen, die seltener werden, { $share } davon im ersten Viertel: neue Formen kommen immer weniger vor
cause-c06-level = sie beginnt mit einer einzigen sehr langsamen Iteration, { $step } ({ $duration } mehr)
cause-c08-printed = eine Zeile sagt, dass { $duration } lang Müll gesammelt wurde
cause-c08-evidence = { $count } Iterationen sind um etwa gleich viel langsamer, { $duration } (± { $share }), ohne festen Abstand, wie wenn Python Müll sammelt
cause-c09-twins = langsame Iterationen kommen alle { $first } und alle { $second } Iterationen, zwei Kämme, die auseinanderlaufen: die Ränge erreichen das Ende eines Datenstücks einen Schritt versetzt
cause-c09-tokens = alle { $every } Iterationen, das sind { $shard } Token eines Datenstücks bei { $tokens } je Schritt
cause-c09-evidence = alle { $every } Iterationen, keine ganze Zahl, { $count }-mal: wie wenn ein Datenstück zu Ende geht
cause-c09-whole = alle { $every } Iterationen: so kann das Ende eines Datenstücks fallen
cause-c10-evidence = genau alle { $every } Iterationen, immer etwa { $duration } mehr: gewollte Arbeit des Optimierers
cause-c11-workers = die langsamen Iterationen liegen so weit auseinander, wie es Ladeprozesse gibt, { $count }
cause-c11-evidence = alle { $every } Iterationen, um wechselnde Beträge (± { $share }): wie wenn so viele Ladeprozesse nicht nachkommen
cause-c12-evidence = die erste Iteration einer Epoche von { $steps }; { $share } der { $count } Epochen beginnen langsam
cause-c12-period = am Rand jeder Epoche von { $steps } Iterationen ({ $count }-mal): Ladeprozesse starten neu
cause-c13-evidence = das Niveau fiel früh im Lauf ({ $done } davon) um { $share } und blieb unten, wie wenn die Daten einmal gelesen sind
cause-c14-evidence = währenddessen wurde eine Datei geholt, die { $own } bis zur Antwort brauchte; die { $count } anderen brauchen { $usual }
cause-c16-more = { $count } Wiederholungen der Speicheranforderung in ihrem Fenster, { $usual } in einem üblichen
cause-c16-usual = { $count } Wiederholungen der Speicheranforderung in ihrem Fenster, aber auch { $usual } in den anderen: sie kosten jedes Fenster, dieses nicht mehr
cause-c17-full = auf einmal und auf Dauer { $change } langsamer, bei { $share } belegtem Kartenspeicher: Seiten können in den Hauptspeicher wandern
cause-c17-evidence = auf einmal und auf Dauer { $change } langsamer: unter Windows oder WSL macht das ein voller Kartenspeicher
cause-c18-evidence = { $change } langsamer, erst steigend, dann gleichbleibend, wie wenn eine Karte ihre Temperatur erreicht
cause-c18-follows = { $change } langsamer, und Evaluationen um denselben Faktor: alles, was rechnet, wurde langsamer
cause-c19-pinned = die Karte zieht { $share } ihrer Leistungsgrenze
cause-c19-evidence = { $change } langsamer und gleichmäßig: das täte eine Leistungs- oder Taktgrenze
cause-c20-window = { $change } langsamer mit scharfen Kanten, und später zurück auf dem alten Niveau: jemand kam und ging
cause-c20-back = { $share } schneller, zurück auf einem früheren Niveau: wer die Maschine teilte, ist fort
cause-c20-evidence = auf einmal { $change } langsamer: ein anderes Programm auf Karte oder Rechner kann begonnen haben
cause-c20-burst = eine von { $count } langsamen Iterationen jeder Höhe innerhalb von { $steps } Zeilen: andere teilen vielleicht die Maschine
cause-c21-evidence = der langsamste Rang brauchte { $slowest }, der schnellste { $fastest }: die anderen warteten auf ihn
cause-c22-evidence = eine einzelne Pause von { $duration } zwischen Iterationen von { $level }: angehalten, blockiert oder hängengeblieben
cause-c24-evidence = alle { $every } Iterationen, ein Vielfaches des Log-Abstands von { $interval }, bei kurzen Iterationen
cause-c25-memory = { $count } Mikroschritte zu { $batch } Sequenzen je Schritt, bei { $share } belegtem Kartenspeicher: ein größerer Batch mit weniger Mikroschritten passte hinein
cause-c25-small = { $count } Mikroschritte zu { $batch } Sequenzen je Schritt für ein Modell mit { $parameters } Parametern auf einer Karte: war das für acht gedacht?
cause-c26-attention = der Kopf warnt vor langsamer Attention: jede Iteration rechnet sie ohne verschmolzenen Kernel
cause-c26-dtype = der Lauf rechnet auf einer GPU mit 32-Bit-Gleitkommazahlen: ihre Tensor-Kerne bleiben ungenutzt
cause-c27-evidence = sie hatte das { $factor }-Fache der üblichen Arbeit, und die Zeit folgt in diesem Lauf der Arbeit (Korrelation { $tied })
cause-c27-level = die Arbeit je Iteration änderte sich dabei auf das { $factor }-Fache
cause-c28-evidence = die erste Iteration nach dem Fortsetzen bei { $step }: Laden, Kompilieren und Überspringen dauerten { $duration }
cause-c29-evidence = ein stetiger Anstieg um { $change } über den Lauf, der sich nicht legt, wie wenn mit jeder Iteration etwas wächst
cause-c30-evidence = ein Anstieg auf der CPU: Zahlen nahe null können denormal geworden sein
cause-c32-evidence = eine Zeile davor berichtet von einer Profiler-Aufzeichnung
cause-c33-evidence = die erste Iteration nach einer Evaluation; { $share } der { $count } Evaluationen haben eine solche
cause-c33-period = die Iteration nach einer Evaluation ist { $count }-mal langsam, obwohl die Uhr dieses Logs Evaluationen auslässt
cause-c34-evidence = eine Änderung um { $change } über den Lauf fast ohne Rauschen (± { $noise }): eher geplant als gewachsen
cause-c35-evidence = das Log sagt, dass sie { $duration } auf ihre Daten wartete
cause-c35-figure = sie wartete je Iteration { $own } auf ihre Daten, sonst { $usual }
cause-c35-level = die Wartezeit auf Daten änderte sich mit, von { $before } auf { $after } je Iteration: { $share } der Änderung
cause-c36-evidence = davor steht eine Zeile, die vor { $count } Iterationen steht, { $hits } davon langsam
cause-c36-evaluation = Evaluationen mit einer solchen Zeile davor dauern { $own }, die anderen { $others } ({ $count } davon)
level-slower = Seit Iteration { $step } sind Iterationen { $share } langsamer ({ $duration }).
level-faster = Seit Iteration { $step } sind Iterationen { $share } schneller ({ $duration }).
level-candidate = Beste Erklärung: { $cause } ({ $code }, { $confidence } sicher): { $evidence }.
level-others = Auch möglich: { $others }.
level-none = Nichts im Log sagt, warum.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Alle { $every } Iterationen dauert eine { $duration } länger, bisher { $count }-mal: { $cause } ({ $code }).
slow-rhythm-maybe = Alle { $every } Iterationen dauert eine { $duration } länger, bisher { $count }-mal; nichts sagt sicher, warum. Am ehesten: { $candidate }.
slow-rhythm-unknown = Alle { $every } Iterationen dauert eine { $duration } länger, bisher { $count }-mal; nichts sagt, warum.
finding-line = Der ganze Lauf: { $evidence } ({ $code }).
settle-stamps = Zeitstempel an den Zeilen würden eine Pause der Maschine von einer langsamen Iteration unterscheiden: { $command }
settle-data = Würde gedruckt, wie lange jede Iteration auf ihren Batch wartet, stünde fest, ob die Daten zu spät kamen.
settle-gpu = nvidia-smi, während es geschieht (und hier --nvidia-smi DATEI), würde Hitze, Leistung, Speicher und andere Programme klären.
settle-gc = gc.disable() nach der ersten Iteration würde klären, ob es die Müllsammlung ist: die langsamen Iterationen wären weg.
settle-ranks = Dasselbe Log von jedem Rang würde zeigen, auf welchen die anderen warteten.
settle-events = { $count } langsame Iterationen sind gleich hoch, doch ein Abstand ist noch nicht auflösbar: dafür braucht es etwa { $enough }.
why-title = Iteration { $step }
why-took = Sie dauerte { $duration }; eine normale Iteration in ihrer Nähe dauert { $level }.
why-window = Ihre Zeile umfasst { $count } Iterationen: { $duration } insgesamt, je { $mean }; eine normale in der Nähe dauert { $level }.
why-normal = Das ist normal: neun von zehn dauern { $span }.
why-raised = Das liegt über ihren Nachbarn, aber nicht genug, um als langsam zu gelten.
why-made-of = Sie besteht aus: { $parts }.
why-cause = Ursache: { $cause } ({ $code }, { $confidence } sicher): { $evidence }.
why-unexplained = Ungeklärt: nichts in diesem Log steht sicher genug für { $duration } ein.
why-lines = Die Zeilen, die dafür sprechen:
why-considered = Auch erwogen:
why-candidate = { $code } { $cause }, { $confidence }: { $evidence }
why-turned-down = Verworfen:
why-not-marker = keine Zeile davor berichtet von einer Evaluation, einem Speichern, einer Müllsammlung oder einem Warten
why-not-first = sie gehört nicht zu den ersten Iterationen ihres Prozesses
why-not-period = sie hält keinen Abstand zu anderen langsamen Iterationen
why-not-epoch = sie steht nicht am Rand einer Epoche
why-not-data = die gedruckte Wartezeit auf Daten ist dort wie üblich
why-not-work = sie hatte nicht mehr Arbeit als andere
why-not-save = kurz davor steht kein Speichern
why-not-pause = sie ist zu kurz für eine angehaltene Maschine
why-periodic = Sie kommt alle { $every } Iterationen, { $count }-mal in diesem Log.
why-neighbours = Um sie herum: { $items }.
why-neighbour = { $step }: { $duration }
why-settle = Was es klären würde:
why-unprinted = Iteration { $step } hat keine eigene Zeile. Die nächsten:
why-inside = Iteration { $step } gehört zu denen, die die Zeile von Iteration { $line_step } umfasst.
why-no-time = Die Zeile von Iteration { $step } hat keine Zeit.
why-page = Die ganze Seite: stepscope doc { $code }
error-no-such-step = das Log hat keine Iteration { $step }
    .hint = es geht von { $first } bis { $last }
error-bad-step = ein Schritt ist eine ganze Zahl
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
inferred-intro = Kein Format des Katalogs erkennt dieses Log; es wurde nach seinem Aufbau gelesen ({ $confidence } sicher):
inferred-item = { $text } ({ $confidence } sicher)
inferred-teach = Zum Berichtigen: stepscope formats try { $path } --suggest > my.toml, my.toml ändern und --format-file my.toml angeben
infer-step = „{ $text }“ gilt als Iteration: eine ganze Zahl, die von Zeile zu Zeile steigt.
infer-step-epoch = „{ $epoch }“ gilt als Epoche und „{ $batch }“ als Iteration darin: Sie beginnt mit jeder Epoche von vorn.
infer-step-is-epoch = „{ $text }“ gilt als Iteration: Es gibt eine Zeile je Epoche.
infer-step-word = „{ $text }“ gilt als die Iteration.
infer-time-mean = „{ $text }“ gilt als Mittel seit der ersten Iteration, in { $unit }: Es fällt von Zeile zu Zeile, während die Summe wächst; die einzelnen Iterationen sind daraus errechnet.
infer-time-none = Von keiner Zahl in diesen Zeilen ist bekannt, dass sie eine Zeit ist.
infer-time-stamps = Die Zeiten sind die Abstände zwischen den Zeitstempeln der Zeilen.
infer-time-step = „{ $text }“ gilt als Zeit einer Iteration, in { $unit }.
infer-time-total = „{ $text }“ gilt als Zeit aller Iterationen seit der Zeile davor, in { $unit }.
infer-time-clock = „{ $text }“ gilt als Uhr, die von Zeile zu Zeile weiterläuft, in { $unit }.
infer-time-rate = „{ $text }“ gilt als Iterationen je Sekunde.
infer-time-work = „{ $text }“ gilt als die Arbeit je Sekunde und „{ $amount }“ als die einer Iteration.
infer-because-stamps = Das passt zu den Zeitstempeln.
infer-because-clock = Das passt zur laufenden Uhr in derselben Zeile.
infer-because-rate = Das passt zur Rate in derselben Zeile.
infer-because-left = Das passt zur Restzeit, die die Zeile nennt.
infer-because-spacing = Den Ausschlag geben Zeilen, die mehr oder weniger Iterationen umfassen als die anderen.
infer-because-meter = Der Mittelwert folgt in Klammern, wie bei einem Zähler, der bei jeder Iteration abgelesen wird.
infer-because-amounts = Mit einer kürzeren Einheit stiegen die anderen Zähler der Zeile schneller, als es eine Maschine könnte.
infer-because-unit = Die Einheit steht dabei; sonst bestätigt es nichts im Log.
infer-because-name = So heißt die Zahl; dass sie Sekunden zählt, bestätigt nichts im Log.
infer-because-size = Sie hat keine Einheit, und bei dieser Größe sind Sekunden am wahrscheinlichsten.
infer-total = „{ $text }“ gilt als Zahl der Iterationen.
infer-batches = „{ $text }“ gilt als Zahl der Iterationen je Epoche.
infer-evaluation = Zeilen wie „{ $text }“ gelten als Evaluierungen.
infer-checkpoint = Zeilen wie „{ $text }“ gelten als Speichern.
infer-step-counted = Zeilen wie „{ $text }“ haben keine Nummer: Sie werden gezählt, jede als eine Iteration.
infer-step-bar = Der Balken „{ $text }“ gilt als der des Trainings: Seine Zeilen sind die Iterationen.
infer-time-bar = Die Zeiten stammen von der Uhr auf dem Balken, in ganzen Sekunden; die Rate daneben ist geglättet und wird nicht verwendet.
infer-bars-are-epochs = Der Balken beginnt { $count }-mal; jedes Mal gilt als eine Epoche.
infer-step-batch = „{ $text }“ gilt als Batch einer Epoche; der Zähler beginnt { $count }-mal, jedes Mal gilt als Epoche.
infer-doubt-interval = „{ $text }“ kann die Zeit einer Iteration sein oder die aller { $count } seit der Zeile davor. Nichts im Log sagt, welche, deshalb wurden keine Zeiten gelesen.
infer-doubt-unit = „{ $text }“ hat keine Einheit und kann die Zeit einer Iteration oder mehrerer sein ({ $count } seit der Zeile davor). Nichts im Log sagt, welche, deshalb wurden keine Zeiten gelesen.

## Läufe vergleichen

compare-slower = Der zweite Lauf ist { $share } langsamer: { $before } → { $after } je 1.000.
compare-faster = Der zweite Lauf ist { $share } schneller: { $before } → { $after } je 1.000.
compare-same = Beide Läufe brauchen gleich lang: { $before } je 1.000.
compare-most = Der größte Teil des Unterschieds ist { $phase }: { $share } davon.
compare-real = Eine normale Iteration weicht um { $low } bis { $high } ab (bei { $confidence }): mehr als Rauschen.
compare-noise = Eine normale Iteration weicht um { $low } bis { $high } ab (bei { $confidence }): Das kann Rauschen sein.
compare-too-few = Zu wenige normale Iterationen, um einen Unterschied von Rauschen zu trennen.
compare-unit-steps = je 1.000 Iterationen
compare-unit-tokens = je Million Tokens
compare-settings-same = Dieselben Einstellungen, soweit die Logs es sagen.
compare-settings = Einstellungen, die sich unterscheiden: { $settings }
compare-no-times = { $path }: keine Iteration mit Zeit zum Vergleichen.
compare-no-tokens = Nicht jedes Log nennt seine Tokens: nach Iterationen verglichen.
error-compare-needs-two = compare braucht mindestens zwei Logs
    .hint = zum Beispiel: stepscope compare old.log new.log

## Die Seite

page-strip = Jede Iteration
page-strip-hint = Ziehen vergrößert, Doppelklick zeigt alles. Ist das Diagramm gewählt: + und − oder das Rad vergrößern, Pfeiltasten verschieben, N und P gehen von einer langsamen Iteration zur nächsten, Pos1 zeigt alles.
page-whatif = Was wäre, wenn

## Die Web-App

web-all-runs = alle Läufe
web-compare = Vergleichen
web-no-runs = Kein Trainingslog unter diesem Ordner.
web-paste = Ein anderes Log
web-paste-hint = Füge hier Zeilen eines Logs ein, oder lass eine Datei auf diese Seite fallen. Sie wird im Speicher gelesen und nirgends behalten.
web-explain = Erklären
serve-hint = Strg-C beendet es. Die Adresse trägt das Token, das einen Browser hereinlässt.
error-serve-needs-token = über diesen Rechner hinaus zu lauschen braucht ein eigenes Token
    .hint = zum Beispiel: openssl rand -hex 16 > token.txt, dann --host 0.0.0.0 --token-file token.txt
error-bad-token = kein Token
    .hint = ein Wort aus Buchstaben und Ziffern, zum Beispiel: openssl rand -hex 16 > token.txt
error-bad-allow-host = weder ein Rechnername noch eine Adresse
    .hint = zum Beispiel: --allow-host logs.example.com oder --allow-host localhost:9000
error-bad-port = kein Port
    .hint = zum Beispiel: --port 8000
error-cannot-listen = dort kann nicht gelauscht werden: { $reason }
    .hint = nimm einen anderen Port, oder keinen für einen freien
alarm-unexplained = Zwischen den Iterationen { $before } und { $step } vergingen { $duration }, die nichts im Log erklärt.
clocks-differ = Nach den Zeitstempeln dauerte das Log { $stamps }, nach den ausgegebenen Zeiten { $printed }: { $rest } stehen in keiner ausgegebenen Zahl.
## Formate, die man beibringt

formats-words = Eine Zeile wird ihm gezeigt, wenn sie eines davon enthält: { $words }.
formats-try-gave-up = aufgegeben in Zeile { $line }, Spalte { $column }:
formats-try-others = { $count ->
    [one] Ein weiteres Format erkennt keine Zeile.
   *[other] { $count } weitere Formate erkennen keine Zeile.
  }
formats-try-account = { $name }: { $share } der Belege, { $steps } Iterationen, { $seconds }, { $unread } Zeilen bleiben übrig
formats-try-behind = { $name }: { $share } der Belege, { $steps } Zeilen mit Iterationen; nicht weiter probiert
formats-try-read-as = Gelesen als { $name }: { $steps } Iterationen.
suggest-what = Eine Formatdatei für Stepscope, gemacht aus dem Aufbau von { $path }.
suggest-where = In { $folder } ablegen oder nennen: stepscope { $path } --format-file FILE
suggest-groups = Benannte Gruppen sind Werte: step oder epoch und batch, total, loss; eine Zeit ist dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers ist step, window (ein Mittel), cumulative oder stamp; figure_is_total = true, wenn die Zeit die aller Iterationen seit der Zeile davor ist.
suggest-none = Nichts in dieser Datei zählt Iterationen: Was folgt, ist ein Formular zum Ausfüllen.
error-suggest-needs-file = --suggest gehört zu try und einer Datei
    .hint = stepscope formats try run.log --suggest > mine.toml
error-no-such-format-file = die Formatdatei lässt sich nicht lesen: { $reason }
    .hint = stepscope formats try run.log --suggest > mine.toml     schreibt eine
error-format-file-too-large = zu groß für eine Formatdatei
    .hint = ist das das Log? Dann --format-file weglassen
error-format-file-not-text = die Formatdatei ist kein UTF-8-Text
    .hint = als UTF-8 speichern
error-format-file-syntax = die Formatdatei ist kein TOML: { $reason }
    .hint = ein Muster steht in einfachen Anführungszeichen: pattern = '…'
error-format-key-missing = { $field } fehlt
    .hint = stepscope formats try run.log --suggest     schreibt eine Datei mit allem Nötigen
error-format-key-unknown = den Schlüssel { $field } gibt es nicht
    .hint = es gibt: { $known }
error-format-key-type = { $field } hat einen Wert der falschen Art
    .hint = so sieht er aus: { $wanted }
error-format-bad-value = { $field } kann nicht { $value } sein
    .hint = eines von: { $known }
error-format-bad-pattern = das Muster ist kein regulärer Ausdruck: { $reason }
    .hint = ein Zeichen, das für sich selbst steht, braucht einen Backslash: \[ \( \. \|
error-format-slow-pattern = manche Zeilen kann das Muster auf so viele Arten lesen, dass es ewig brauchen könnte
    .hint = einer der Wiederholungen ein Ende geben, etwa { $example } statt + oder *, oder sie trennen: \S+ \S+ statt .+ .+
error-format-unknown-group = einen Wert namens { $group } gibt es nicht
    .hint = es gibt: { $known }
error-format-sample-missed = das Muster gibt in Spalte { $column } seines Beispiels auf: { $text }
    .hint = das Muster ändern oder das Beispiel
error-format-no-step = keine Zeile ist von der Art step
    .hint = ein [[lines]] braucht kind = 'step' und ein Muster mit (?P<step>\d+)
error-broken-plugin = das Format { $name } eines anderen Pakets lässt sich nicht laden: { $reason }
    .hint = dieses Paket reparieren oder entfernen

## Von innen gesehen

inside-line = Von innen gesehen: { $items }.
inside-evaluation = { $count } × Evaluierung { $duration }
inside-checkpoint = { $count } × Speichern { $duration }
inside-data = { $count } × Warten auf Daten { $duration } (am längsten { $longest })
inside-gc = { $count } × Speicherbereinigung { $duration } (am längsten { $longest })
inside-compile = { $count } × Kompilieren { $duration }
inside-optimizer = { $count } × Optimiererschritt { $duration }
inside-retry = { $count } × Speicheranforderung wiederholt
inside-step = { $count } × Iteration { $duration } (am längsten { $longest })
inside-fetch = { $count } × Batch laden { $duration } (am längsten { $longest })
inside-logging = { $count } × Protokollieren { $duration }
inside-other = { $count } × { $kind } { $duration } (am längsten { $longest })
## Vorhersage

assume-like = { $count ->
    [one] Der Rest folgt einem früheren Lauf desselben Programms, { $path }, im Tempo dieses Laufs.
   *[other] Der Rest folgt { $count } früheren Läufen desselben Programms, etwa { $path }, im Tempo dieses Laufs.
}
assume-passes = Die jetzige Verlangsamung ist neu: angenommen wird, dass sie etwa so lange noch anhält, wie sie schon dauert.
finish-ask = Frag nach Iteration { $step } noch einmal, in etwa { $duration }.
finish-ask-step = Frag nach Iteration { $step } noch einmal.
deadline-chance = Fertig bis { $time }: zu { $share } wahrscheinlich.
deadline-sure = Fertig bis { $time }: so gut wie sicher.
deadline-hardly = Fertig bis { $time }: kaum möglich.
error-bad-deadline = kein Zeitpunkt: { $text }
    .hint = schreib --deadline 08:00, --deadline 2025-11-15T08:00 oder Unix-Sekunden
error-like-format = das Log eines anderen Trainers: { $its }, nicht { $own }
    .hint = --like braucht ein vollständiges Log desselben Programms
error-like-short = jener Lauf endet bei Iteration { $last }, vor den { $total } dieses Laufs
    .hint = --like braucht ein vollständiges Log desselben Programms

advice-a106-costs = Dieselben Sequenzen in { $batches } Batches zu { $size }. Dazu muss die Evaluierung geändert werden.
advice-a106-evidence = Eine Evaluierung rechnet { $batches } Batches zu { $size }, und die Karte hat Speicher für größere übrig.
advice-a110-costs = Plattenplatz für den Cache.
advice-a110-evidence = Der Lauf wurde { $count }-mal gestartet; das Anlaufen dauerte zusammen { $duration }.
advice-a115-costs = Der Loss wird nur alle { $count } Iterationen ausgegeben.
advice-a115-evidence = Jede Iteration von { $duration } wartet, bis ihr Loss geholt und ausgegeben ist.
advice-a116-costs = Ein neueres PyTorch; die Ergebnisse unterscheiden sich nur in der Rundung.
advice-a116-evidence = Der Trainer sagt beim Start, dass die Attention nicht verschmolzen ist.

## Page, app and other tools

error-binary-to-terminal = eine { $name }-Datei ist nichts für ein Terminal
    .hint = schreiben Sie sie in eine Datei: -o bericht.{ $name }
## Rat: Genauigkeit, Annahmen, Speichern und Platte

precision-same = Der Standardfehler des Validierungs-Loss bleibt { $error }.
precision-same-seen = Der Standardfehler des Validierungs-Loss bleibt { $error }; von einer Evaluierung zur nächsten fällt der Loss um etwa { $gain }, das bleibt sichtbar.
precision-same-unseen = Der Standardfehler des Validierungs-Loss bleibt { $error }; von einer Evaluierung zur nächsten fällt der Loss um etwa { $gain }, zu wenig, als dass eine einzelne es zeigte.
advise-rounding = Ändert nicht, was gelernt wird, nur die Rundung.
advise-draws = Ändert nicht, was gelernt wird, nur die zufällige Auswahl.
advise-assumed = Angenommen, aus veröffentlichten Fällen: { $cases }
change-frees = { $change }: gibt { $size } GB Plattenplatz frei
change-together = Alle zugleich sparen etwa { $duration }: { $after } statt { $before }.
change-eval-interval = alle { $proposed } statt alle { $now } Iterationen evaluieren
change-checkpoint-interval = alle { $proposed } statt alle { $now } Iterationen speichern
change-log-interval = alle { $proposed } statt alle { $now } Iterationen ausgeben
change-eval-iters = { $proposed } statt { $now } Batches je Evaluierung
change-none-few = Nichts, was sich lohnt: Evaluieren und Speichern kosten { $share } der Zeit, aber es geschieht schon so selten, dass es weniger nicht sein sollte.
change-none-seen = Nichts, was sich lohnt: Das Log zeigt keine Evaluierung, und nichts anderes darin kostet genug.
change-no-steps = Kein Rat: Es ließ sich keine Iterationszeit lesen.
advice-a101-costs-seen = Evaluierungen kommen { $factor }-mal seltener.
advice-a102-costs-flat = Der Standardfehler des Validierungs-Loss wächst von { $before } auf { $after }. Der Loss fällt von einer Evaluierung zur nächsten nicht mehr: Auch mehr Batches zeigten keinen Gewinn.
advice-a104-change = nur speichern, wenn der Validierungs-Loss besser wird
advice-a105-change = jedes Mal dieselben Evaluierungs-Batches, und { $proposed } statt { $now }
advice-a105-precision = Der Fehler eines Unterschieds zwischen zwei Evaluierungen geht von { $before } auf { $after } oder weniger.
advice-a106-costs-plain = Dieselben Sequenzen in Batches zu { $size }. Reicht der Speicher nicht, zurückgehen.
advice-a106-evidence-plain = Evaluiert wird in Batches zu { $size }, und die Karte hat Speicher für größere übrig.
advice-a106-change = Evaluierungs-Batches zu { $proposed } statt { $now }
advice-a106-assumed = 2- bis 10-mal so große Batches brauchten auf einem Prozessor das 0,84- bis 1,12-Fache der Zeit; eine Karte, die zwischen Kernels wartet, gewinnt bis zu einem Drittel.
advice-a107-change = auf allen { $count } Rängen evaluieren statt auf einem
advice-a107-assumed = Auf vier Karten ging eine Iteration mit Evaluierung von 20,5 auf 8,7 s (nanoGPTs Issue 673).
advice-a108-costs-shorter = Mehr Speichervorgänge; dafür kostet ein Absturz höchstens { $duration } Arbeit.
advice-a108-evidence-accepted = Ein Speichern hält das Training { $duration } auf. Bei einem Absturz alle { $between } ist nach Dalys Regel { $best } der beste Abstand; { $accepted } Verlust nimmst du hin.
advice-a109-change = asynchron speichern
advice-a109-assumed = Aus 27,3 s wurden 0,54 s bei einem 8B-Modell auf acht H100 (NeMo Automodels Issue 635); auf einem Prozessor blieben 16 % der Wartezeit.
advice-a110-change = den Kompilier-Cache zwischen den Starts behalten
advice-a110-assumed = Mit warmem Cache dauerte nanoGPTs erste Iteration auf einem Prozessor 2,3 statt 26 s; Laden und erstes Anfassen bleiben.
advice-a111-change = die Speicherbereinigung von Hand auslösen, alle paar tausend Iterationen
advice-a112-change = { $count } Ladeprozesse, dauerhaft und mit Vorauslesen
advice-a112-change-prefetch = den nächsten Shard in einem Thread vorauslesen
advice-a112-assumed = Aus 0,217 s Warten je Iteration wurden mit mehr Prozessen 0,003 s; wo Platte oder Netz langsam sind, ändert sich nichts.
advice-a113-assumed = nichts auf einer Karte, die schon beschäftigt ist, bis zu einem Zehntel auf einer, die zwischen Kernels wartet; stepscope plan rechnet es für ein gegebenes Modell aus.
advice-a114-assumed = Eine V100 multipliziert Matrizen mit 9,9 TFLOPS in bfloat16 und mit 100 und mehr in float16 (öffentliche Tabellen).
advice-a115-assumed = nanoGPTs Zeile kostet auf einem Prozessor 0,3 ms, nichts, wo die Schleife ohnehin auf die Karte wartet, und einige Millisekunden mit einem Metrik-Client.
advice-a116-change = verschmolzene Attention
advice-a116-assumed = GPT-2 auf einer A100 ging von 130 auf 96 ms je Iteration; kurze Kontexte gewinnen weniger, lange mehr.
advice-a117-change = verschmolzenes AdamW
advice-a117-costs = Kein Speicher; die Summen werden in anderer Reihenfolge gerundet. Braucht PyTorch 2.0 auf CUDA, 2.4 auf einem Prozessor.
advice-a117-evidence = Der Trainer zeigt beim Start, dass sein Optimierer nicht verschmolzen ist.
advice-a117-assumed = 3 % bei GPT-2 auf einer A100 (93 auf 90 ms), 0 bis 8 % bei kleinen Modellen auf einem Prozessor.
advice-a118-change = die letzten { $count } Checkpoints behalten
advice-a118-costs = Nur zu den letzten { $count } kann man zurück; was bleiben soll, beiseite kopieren.
advice-a118-evidence = { $count } Checkpoints zu je etwa { $each } GB, und dieser Trainer behält alle: { $total } GB am Ende.
safety-now = Zwischen zwei Speichervorgängen (alle { $interval } Iterationen) stehen bis zu { $stake } Arbeit auf dem Spiel.
safety-within = Das liegt innerhalb der { $accepted }, die du hinnimmst.
safety-beyond = Du nimmst { $accepted } hin: Speichere mindestens alle { $needed } Iterationen.
safety-best = Bei { $stall } Wartezeit je Speichern und den gesehenen Neustarts geht nach Dalys Regel am wenigsten verloren, wenn alle { $best } Iterationen gespeichert wird.
disk-one = Dieser Trainer überschreibt ihn jedes Mal.
disk-all = Dieser Trainer behält alle: { $count } am Ende, { $total } GB.
error-bad-may-lose = --may-lose erwartet eine Dauer
    .hint = zum Beispiel: --may-lose 10min, 90s oder 1h30m
error-change-twice = { $setting } wird zweimal geändert
    .hint = gib einen Wert dafür an
error-unknown-change = keine Einstellung dieses Namens
    .hint = war { $known } gemeint?

disk-each = Ein Checkpoint belegt etwa { $each } GB auf der Platte.
disk-some = Dieser Trainer behält die letzten { $count }: { $total } GB.

error-bad-change-switch = { $setting } ist True oder False
    .hint = zum Beispiel: --change { $setting }=False

whatif-past = Der Lauf ist schon bei Iteration { $step }, über { $total } hinaus: Er wäre fertig.

## Die Karte

card-size-unknown = Ist das für { $gpu } normal? { $duration } braucht sie gewöhnlich mit einem Modell von { $low } bis { $high } Mio. Parametern. Wie groß dieses ist, steht nirgends; für ein Urteil angeben: --set parameters=124M.
page-zoom-in = Vergrößern
page-zoom-out = Verkleinern
page-zoom-left = Nach links
page-zoom-right = Nach rechts
page-zoom-all = Alles zeigen
page-normal = normale Iteration
page-outside = { $phase } zwischen zwei Iterationen
page-level = Niveau normaler Iterationen
page-tip = Iteration { $step }: { $took }
page-validation = Validierungs-Loss
page-fan = Iterationen über der Zeit: bisher, von hier an vorhergesagt und früher vorhergesagt
page-fan-past = bisher
page-fan-ahead = von hier an vorhergesagt
page-fan-earlier = früher vorhergesagt
section-backtest = Was früher gesagt worden wäre
backtest-column-at = nach
backtest-column-said = vorhergesagt
backtest-column-range = Spanne
backtest-column-took = eingetreten
backtest-column-off = daneben um
backtest-at = { $share }, Iteration { $step }
backtest-summary = { $count ->
    [one] Die Vorhersage der Zeit bis Iteration { $step }, neu gemacht aus dem, was das Log in dem Moment sagte; was eintrat, liegt { $held }-mal von einem in ihrer Spanne.
   *[other] Vorhersagen der Zeit bis Iteration { $step }, neu gemacht aus dem, was das Log im jeweiligen Moment sagte. Was eintrat, liegt bei { $held } von { $count } in der Spanne.
}
page-throughput = Durchsatz
page-tokens-rate = Tokens pro Sekunde, mit Evaluierungen und Speichern
page-steps-rate = Iterationen pro Sekunde, mit Evaluierungen und Speichern
page-gpu = Die Karte
page-gpu-load = Auslastung
page-gpu-memory = Speicher
page-gpu-power = Leistung
page-gpu-temperature = Temperatur
cards-line = { $gpu }, { $count } Messungen: { $items }.
cards-load = im Mittel zu { $share } ausgelastet
cards-memory = höchstens { $used } von { $total } GiB
cards-power = { $mean } W im Mittel, höchstens { $most } W
cards-temperature = bis { $degrees } °C
page-whatif-left = noch { $duration } ({ $span })
page-whatif-done = fertig um { $time }
page-whatif-less = { $duration } weniger als jetzt
page-whatif-more = { $duration } mehr als jetzt
page-whatif-evaluations = Evaluierungen, die noch kommen: { $number }
page-whatif-error = Validierungs-Loss ± { $error }
page-more-slow = { $count ->
    [one] Eine langsame Iteration mehr
   *[other] { $count } langsame Iterationen mehr
}
## Was die Karte währenddessen sagt

gpu-power-of = { $power } von { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } von { $most } MHz
gpu-held = gebremst durch { $reasons }
gpu-others = { $count ->
    [one] außerdem darauf: { $names }
   *[other] { $count } andere darauf: { $names }
}
throttle-power_cap = ihr Leistungslimit
throttle-thermal = Hitze
throttle-hw_slowdown = ihren eigenen Schutz
throttle-power_brake = das Netzteil
throttle-sync_boost = die langsamste ihrer Gruppe
live-gpu = Karte
alarm-near-oom = { $used } von { $total } GiB der Karte sind belegt: Etwas mehr beendet den Lauf. Ein kleinerer Batch mit mehr Akkumulation braucht weniger.
alarm-slowdown-thermal = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, jetzt { $after }. Die Karte senkt ihren Takt, weil sie zu heiß ist: Lüfter, Staub und Nachbarn ansehen.
alarm-slowdown-power = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, jetzt { $after }. Die Karte ist an ihrem Leistungslimit: siehe nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, jetzt { $after }. Auf der Karte läuft noch ein Prozess: nvidia-smi zeigt, welcher.
alarm-slowdown-memory = Seit Iteration { $step } sind die Iterationen um { $share } langsamer: vorher { $before }, jetzt { $after }. Der Speicher der Karte ist voll, und was nicht hineinpasst, wandert womöglich in den Hauptspeicher: Ein kleinerer Batch hilft.
alarm-finished = Der Lauf ist fertig: Iteration { $step }.
notify-failed = { $count ->
    [one] Eine Nachricht ließ sich nicht senden; prüfe die Adresse von --notify.
   *[other] { $count } Nachrichten ließen sich nicht senden; prüfe die Adresse von --notify.
}
live-log = Log

## Der Plan, Karte für Karte

plan-title-asked = Wie eingestellt
plan-title-proposed = Empfohlene Einstellungen
plan-now = jetzt
plan-row-evaluations = Evaluierungen
plan-row-saved = gespart
plan-keeps = Dieselben Tokens je Iteration: Was gelernt wird, ändert sich nicht, nur Rundung und zufällige Auswahl. Mit weniger Evaluierungs-Batches wird der Validierungs-Loss ungenauer. --write ORDNER schreibt je Karte eine Konfigurationsdatei.
plan-keeps-not = Dieselben Tokens je Iteration, aber float16, wo die Karte kein bfloat16 hat: Das ändert leicht, was gelernt wird. --write ORDNER schreibt je Karte eine Konfigurationsdatei.
plan-note-from = Kalibriert mit dem Log: { $duration } je Iteration auf { $gpu }.

plan-row-sequences = Sequenzen je Evaluierung
plan-memory-other = anderes, wie gemessen
plan-model-derived = { $low } bis { $high } Mio. Parameter, erschlossen; gerechnet mit { $parameters }: { $layers } Schichten × { $hidden }, Kontext { $context }, Vokabular { $vocabulary }

## Rat: Kompilieren, Datentypen, Shards

change-scope-rest-one = Gespart am Rest dieses Laufs.
change-scope-run-one = Gespart an einem Lauf wie diesem.
disk-each-span = Ein Checkpoint belegt etwa { $each } GB auf der Platte ({ $low } bis { $high }).
advice-a112-costs-prefetch = Hauptspeicher für einen weiteren Shard.
advice-a112-assumed-prefetch = modded-nanogpt liest den nächsten Shard seit seinem Rekord 33 in einem Thread; davor kostete jede Grenze 160 bis 200 ms.
advice-a119-costs = Die erste Iteration dauert etwa { $duration } länger. Probiere es hundert Iterationen lang: Ein kleines Modell gewinnt vielleicht nichts.
advice-a119-evidence = Die Einstellungen sagen, dass das Modell nicht kompiliert wird.
advice-a119-assumed = GPT-2 auf einer A100 ging von 250 auf 135 ms je Iteration (nanoGPTs README); ein kleines Modell auf einer RTX 3080 von 44 auf 48.
advice-a120-change = gleichbleibende Formen: den unvollständigen Batch weglassen oder auffüllen
advice-a120-costs = Auf den Sequenzen des unvollständigen Batches wird nicht trainiert, oder Füllung wird umsonst gerechnet.
advice-a120-evidence = { $count } Iterationen von zusammen { $duration } sehen nach erneutem Kompilieren aus; das sind { $share } der Zeit.
advice-a121-costs = Gemischte Genauigkeit: Die Gewichte bleiben in float32, Produkte werden auf 16 Bit gerundet; die Losses weichen leicht ab.
advice-a121-evidence = { $gpu } multipliziert 16-Bit-Zahlen um ein Vielfaches schneller als 32-Bit-Zahlen, und dieser Lauf rechnet in float32.
advice-a121-assumed = GPT-2 auf einer A100 brauchte 1000 ms je Iteration in float32, 333 mit TF32, 300 mit bfloat16.
inside-skipped = Nicht eingehängt, weil diese Version es nicht zulässt: { $names }.
split-trace = Evaluierung und Checkpoint wurden von innen im Prozess gemessen.
compare-title = Läufe nebeneinander
compare-section-each = Jeweils eins
compare-section-why = Was den Unterschied erklärt: { $first } → { $other }
compare-section-settings = Einstellungen, die sich unterscheiden
compare-row-typical = normale Iteration
compare-row-evaluation-each = eine Evaluierung
compare-row-checkpoint-each = ein Checkpoint
compare-row-warmup = Anlauf insgesamt
compare-row-stall = ungeklärt insgesamt
compare-row-wall = das ganze Log
web-runs = Die Läufe unter diesem Ordner
web-choose = Vergleichen
web-failed = Keine Antwort vom Server: läuft er noch?

change-eval-epochs = alle { $proposed } Epochen evaluieren (jetzt: { $now })

error-plan-from-impossible = so schnell kann { $gpu } nicht sein: Die Iterationen des Logs wären mit diesem Modell { $share } ihres Maximums
    .hint = prüfe --params, --context, --from-gpu sowie batch_size und gradient_accumulation_steps

advice-a108-costs-unseen = Ein Absturz kostet bis zu { $duration } Arbeit. Noch war keiner zu sehen; angenommen ist einer pro Woche.

warning-unknown-card = Warnung: Keine Karte heißt { $name }, daher steht nichts über ihr Maximum da; bekannt sind etwa { $known }: stepscope doc cards listet alle
warning-no-effect = Warnung: { $flag } wirkt sich auf eine Live-Ansicht nicht aus
error-too-large-inside = aus dieser Datei kommen mehr als { $size }
    .hint = entpacken Sie sie und nehmen Sie den Teil, den Sie wollen: zcat file.gz | head -c 100M > teil.log

## Wie sicher die Lesart ist

section-reading = Ist dieses Log richtig gelesen?
reading-doubt = Diese Lesart ist zweifelhaft ({ $confidence } sicher): Prüfe sie, bevor du dich auf eine der Zahlen unten verlässt.
reading-item = { $text } [{ $code }]
reading-settle = So klärst du es: stepscope formats try { $path } zeigt, wie jedes Format dieses Log liest; --format-file FILE liest es mit einem anderen, --set schlüssel=wert gibt an, was es nicht sagt.
reading-agrees = Lesart: { $text }
reading-eta-doubt = zweifelhaft: Dieses Log ist vielleicht nicht richtig gelesen ({ $confidence } sicher). { $text }
audit-clocks-none = Nur eine Uhr: Nichts anderes im Log zeigt, ob seine Zeiten richtig gelesen sind.
audit-clocks-agree = { $name ->
    [stamps] gegen die Zeitstempel geprüft, sie stimmen überein ({ $used } und { $other }).
   *[other] gegen die eigene Summe des Logs „{ $name }“ geprüft, sie stimmt überein ({ $used } und { $other }).
  }
audit-clocks-differ = { $name ->
    [stamps] Die gedruckten Zeiten ergeben { $used }, die Zeitstempel derselben Zeilen { $other }.
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
audit-evaluations-booked = Evaluierungen sind in der Rechnung.
audit-evaluations-unread = { $count ->
    [one] Eine Zeile sieht nach einer Evaluierung aus, die in der Rechnung fehlt: „{ $text }“ (Zeile { $line }).
   *[other] { $count } Zeilen sehen nach Evaluierungen aus, die in der Rechnung fehlen: „{ $text }“ (ab Zeile { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] Eine Evaluierung ist zu sehen, aber nichts zeigt, was sie gekostet hat.
   *[other] { $count } Evaluierungen sind zu sehen, aber nichts zeigt, was sie gekostet haben.
  }
audit-evaluations-none = Keine Zeile sieht nach einer Evaluierung aus.
audit-end-short = Das Log sagt, dass der Lauf zu Ende ist, aber die letzte gelesene Iteration ist { $step } von { $total }.
audit-end-unread = Zeile { $line } sagt vielleicht, dass der Lauf zu Ende ist: „{ $text }“.
audit-end-known = Das Log sagt, wie der Lauf endete, und seine letzte Iteration passt dazu.
audit-end-none = Keine ungelesene Zeile spricht von einem Ende.
audit-step-none = Iterationen wurden gelesen, aber daraus ergibt sich keine normale Dauer.
audit-step-plausible = { $duration } ist eine plausible Iteration.
audit-step-odd = Eine Iteration von { $duration } oder so ungleiche Zeiten sind für ein Training ungewöhnlich.
audit-total-none = Es gibt keine Summe zum Vergleichen.
audit-total-negative = Die Summe von { $duration } widerspricht ihren Teilen.
audit-total-explained = { $share } der Zeit haben einen Namen.
audit-total-unexplained = { $share } der Zeit ({ $duration }) erklärt nichts im Log.
audit-counter-short = Zu wenige Iterationen, um zu sehen, ob sie gleichmäßig zählen.
audit-counter-regular = Die Iterationen zählen gleichmäßig.
audit-clock-none = Das Log hat keine Zeitstempel, die zurückspringen könnten.
audit-clock-runs-on = Die Zeitstempel springen nie zurück.
audit-clock-set = { $count ->
    [one] Die Uhr wurde einmal zurückgestellt, während das Log entstand (Zeile { $line }, um { $by }); was dort verging, ist angenommen.
   *[other] Die Uhr wurde { $count }-mal zurückgestellt, während das Log entstand (am meisten in Zeile { $line }, um { $by }); was dort verging, ist angenommen.
}
audit-counter-again = { $count ->
    [one] Die Zählung beginnt einmal von vorn: Die Summe ist die beider Starts, gemeint sein kann auch nur der letzte.
   *[other] Die Zählung beginnt { $count }-mal von vorn: Die Summe ist die aller Starts, gemeint sein kann auch nur der letzte.
}
audit-counter-jumps = { $count ->
    [one] Die Iterationen zählen nicht gleichmäßig oder beginnen von vorn (einmal).
   *[other] Die Iterationen zählen nicht gleichmäßig oder beginnen von vorn ({ $count }-mal).
  }
audit-lines-none = Es gibt keine Zeilen zu zählen.
audit-lines-many = { $share } der Zeilen sind gelesen.
audit-lines-few = Nur { $share } der Zeilen sind gelesen.
audit-format-known = Das Format ist bekannt: { $format }.
audit-format-inferred = Das Format ist nicht bekannt; was die Zeilen bedeuten, wurde aus ihrem Aufbau erschlossen ({ $confidence } sicher).
audit-formats-none = Kein anderes Format wurde versucht.
audit-formats-one = Kein anderes Format als { $format } passt annähernd so gut.
audit-formats-close = Zwei Formate passen etwa gleich gut: { $format } erklärt { $share } des Logs, { $other } { $rest }.
audit-trained-none = Keine Iterationen wurden gelesen.
audit-trained = Zu den Iterationen gehören Losses, Evaluierungen oder Checkpoints.
audit-trained-unknown = Nichts zeigt, dass hier ein Training zählt: kein Loss, keine Evaluierung, kein Checkpoint.
reason-no-steps-unread = Keine Iteration mit Zeit wurde gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) sagen es vielleicht; Stepscope liest sie nicht.
reason-no-steps-over = Keine Iteration mit Zeit wurde gelesen, und das Log sagt, wie der Lauf endete: Es kommt keine mehr.
reason-no-times-unread = Iterationen wurden gelesen, aber nicht, wie lange sie gedauert haben. Zeilen wie „{ $text }“ (Zeile { $line }) sagen es vielleicht; Stepscope liest sie nicht.
reason-no-total-unread = Wie viele Iterationen der Lauf hat, wurde nicht gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) sagen es vielleicht; Stepscope liest sie nicht. Gib --max-steps N an oder --config mit den Einstellungen des Laufs.
change-none-seen-unread = Nichts im Gelesenen, was sich lohnt: In der Rechnung ist keine Evaluierung. Zeilen wie „{ $text }“ (Zeile { $line }) sagen es vielleicht; Stepscope liest sie nicht.
alarm-ended-early-unread = Der Lauf endete nach Iteration { $step }; wie viele geplant waren, wurde nicht gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) sagen es vielleicht; Stepscope liest sie nicht.

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
finding-logging = Das Schreiben des Logs dauerte { $seconds }, { $share } der Zeit.
finding-communication = Das Warten auf andere Prozesse dauerte { $seconds }, { $share } der Zeit.
finding-stall = Ungeklärte Pausen dauerten { $seconds }, { $share } der Zeit.
finding-gap = { $seconds } lang, { $share } der Zeit, lief nichts: Neustarts oder ein angehaltener Rechner.
finding-slower = Die Iterationen { $first } bis { $last } dauerten { $level } statt { $normal }: Das kostete { $seconds }, { $share } der Zeit.
finding-repeated = { $count ->
    [one] Eine Iteration lief nach einem Neustart doppelt: { $seconds } Training, { $share } der Zeit.
   *[other] { $count } Iterationen liefen nach Neustarts doppelt: { $seconds } Training, { $share } der Zeit.
  }
finding-after-best = Am niedrigsten war der Validierungs-Loss bei Iteration { $step } ({ $loss }). Die { $seconds } danach, { $share } der Zeit, haben das Modell verschlechtert.

## Die Antwort in drei Zeilen

summary-running = Läuft: { $where }
summary-finished = Fertig: { $where }
summary-stopped = Ohne ein Wort abgebrochen: { $where }
summary-unknown = Läuft vielleicht noch: { $where }
summary-crashed = Abgestürzt nach { $wall }: { $where }
summary-crashed-early = Vor der ersten Iteration abgestürzt
summary-crashed-untimed = Abgestürzt: { $where }
summary-out_of_memory = Speicher voll nach { $wall }: { $where }
summary-out_of_memory-early = Speicher voll vor der ersten Iteration
summary-out_of_memory-untimed = Speicher voll: { $where }
summary-interrupted = Unterbrochen nach { $wall }: { $where }
summary-interrupted-early = Vor der ersten Iteration unterbrochen
summary-interrupted-untimed = Unterbrochen: { $where }
summary-killed = Von außen beendet nach { $wall }: { $where }
summary-killed-early = Vor der ersten Iteration von außen beendet
summary-killed-untimed = Von außen beendet: { $where }
summary-cause = Zeile { $line }: { $text }
summary-memory = { $asked } mehr wurden gebraucht, { $free } von { $total } waren frei (Zeile { $line })
summary-smaller = Halbiere den Batch und verdopple die Akkumulation: das Training bleibt dasselbe
summary-smaller-batch = Versuch Batch { $batch_size } × Akkumulation { $accumulation }: gleich viele Tokens pro Iteration
summary-lost = { $count ->
    [0] Nichts ist verloren: Der letzte Checkpoint ist von der letzten Iteration, { $step }
    [one] Verloren: eine Iteration ({ $seconds }) seit dem letzten Checkpoint, bei { $step }
   *[other] Verloren: { $count } Iterationen ({ $seconds }) seit dem letzten Checkpoint, bei { $step }
  }
summary-for-times = Für Zeitangaben so starten: stepscope run -- python train.py
summary-nothing-lost = Keine Trainingszeit ist verloren: Es gab noch keine Iteration
summary-left = Noch { $left }{ $range }
summary-left-done = Noch { $left }{ $range } · Ende: { $time }
summary-left-if = Noch { $left }{ $range }, falls es weiterläuft
summary-resumed = Lief { $wall }; beim Fortsetzen noch { $left }{ $range }
summary-took = Dauer: { $wall }
summary-took-each = Dauer: { $wall }, { $level } pro Iteration
summary-no-times = Das Log enthält keine Zeiten: weder Dauer noch Ende lassen sich angeben
summary-no-steps = Noch keine Iteration mit Zeit: weder Dauer noch Ende lassen sich angeben
summary-so-far-no-total = Bisher { $wall }; für das Ende: --max-steps N angeben
summary-so-far-no-end = Bisher { $wall }; das Ende ist noch nicht abzusehen
summary-each-no-total = Bisher { $wall }, { $level } pro Iteration; für das Ende: --max-steps N
summary-each-no-end = Bisher { $wall }, { $level } pro Iteration; Ende noch nicht abzusehen
summary-unlogged = Größter Posten: { $seconds } ({ $share }), die das Log nicht erklärt
summary-healthy = Nichts zu verbessern: { $share } der Zeit sind Training
summary-no-cost = Nichts Vermeidbares kostet 1 % der Zeit oder mehr
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
cost-after-best = Größter Posten: { $seconds } ({ $share }) nach dem besten Validierungs-Loss, bei { $step }

## Eine Bildschirmseite

slow-group-times = { $where } ({ $count }×)
slow-group-some = mehrere
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
screen-inferred = Unbekanntes Format, an seiner Struktur gelesen ({ $confidence } sicher)
## Flotten

fleet-listing = { $found } Logs bisher gefunden
fleet-progress = { $done } von { $total } · { $rate } pro Sekunde · noch { $left }
fleet-scanned = { $found } Kandidaten gefunden: { $known } schon bekannt, { $done } jetzt gelesen, { $failed } davon nicht verstanden
fleet-unreadable-folder = Warnung: Der Ordner { $path } lässt sich nicht auflisten
error-bad-workers = --workers ist eine ganze Zahl von 1 bis 4095
    .hint = zum Beispiel: --workers 8
error-fleet-needs-place = nichts einzulesen
    .hint = nenne Ordner oder Logs: stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = ein anderer Lauf schreibt gerade in diesen Speicher
    .hint = warte auf ihn oder nimm ein anderes --store
error-fleet-too-slow = das Lesen dauerte mehr als { $minutes } Minuten
    .hint = sieh dir die Datei einzeln an: stepscope { $place }

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
app-state-stopped = Verstummt
app-state-unknown = Still
app-state-unread = Nicht gelesen
app-looking = Läufe werden gesucht …
app-reading = Wird gelesen: { $read } von { $found } Dateien
app-count = { $shown } von { $total } Läufen
app-others = Dateien ohne Trainingslog: { $count }
app-unreadable = Nicht lesbare Ordner: { $count }
app-no-match = Kein Lauf passt. Leere die Suche oder wähle einen anderen Status.
app-empty-start = Starte ein Training, dessen Zeiten aufgezeichnet werden; nach Sekunden steht es hier:
app-empty-paste = Oder öffne ein Log, das woanders liegt: Lass es auf diese Seite fallen, oder füge seine Zeilen unter „Neu“ ein.
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
app-left-at = fertig: { $time }
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
app-unread = konnte nicht gelesen werden ({ $problem }); öffne den Lauf für den Grund
app-unread-large = für die Liste zu groß oder zu langsam zu lesen; zum Lesen öffnen
app-instead-reason-no-total = Das Log sagt nicht, wie viele Iterationen der Lauf hat. Fülle oben „Iterationen insgesamt“ aus.
app-instead-reason-implausible-total = die angegebene Gesamtzahl von { $total } Iterationen ist unglaubwürdig: Im jetzigen Tempo dauerten sie noch { $left }. Berichtige oben „Iterationen insgesamt“.
app-instead-reason-no-total-unread = Wie viele Iterationen der Lauf hat, wurde nicht gelesen. Zeilen wie „{ $text }“ (Zeile { $line }) sagen es vielleicht; Stepscope liest sie nicht. Fülle oben „Iterationen insgesamt“ aus.
app-instead-summary-so-far-no-total = Bisher { $wall }; für das Ende „Iterationen insgesamt“ ausfüllen
app-instead-summary-each-no-total = Bisher { $wall }, { $level } pro Iteration; für das Ende „Iterationen insgesamt“ ausfüllen
app-instead-error-no-such-file = dieser Lauf liegt nicht (mehr) unter dem Ordner
    .hint = geh zurück zur Liste: Sie zeigt, was jetzt da ist
app-instead-error-compare-needs-two = ein Vergleich braucht mindestens zwei Läufe mit Zeiten
    .hint = geh zurück und wähle zwei Zeilen der Liste oder mehr
error-bad-fact = „{ $text }“ ist keine ganze Zahl ab 1
    .hint = geh zurück und schreib sie wie 20000 oder 124M
