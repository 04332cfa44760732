### Français (vous). Les termes que l’on dit en anglais (checkpoint, batch, log, rank, shard) restent tels quels.

## Nombres

number-least-grouped = 1000
unit-day = j
statements-separator = … ; …
labelled = { $label } : { $text }
clock-with-date = { $date }, { $time }

## Phases, preuves, origines

phase-step = entraînement
phase-evaluation = évaluation
phase-checkpoint = checkpoint
phase-warmup = préchauffage
phase-data = données
phase-gc = ramasse-miettes
phase-logging = écriture du log
phase-communication = communication
phase-stall = inexpliqué
phase-gap = interruption
phase-unlogged = hors du log
basis-measured = mesuré
basis-inferred = déduit
basis-assumed = estimé
basis-unpriced = { $count }×, sans durée
basis-in-steps = { $count }×, dans l’entraînement
basis-unseen = sans ligne, { $most } au plus
origin-flag = indiqué
origin-config = config
origin-log = log
origin-detected = détecté
origin-default = par défaut
part = { $phase } { $duration }
part-span = { $phase } { $duration } ({ $span })

## L’exécution

run-progress = itération { $step } sur { $total } ({ $share })
run-progress-open = itération { $step }
run-none = aucune itération chronométrée
run-unread = aucune itération reconnue
run-normal = Une itération normale dure { $duration } (90 % durent { $span }).
run-present = Actuellement, une itération dure { $duration }.
run-normal-one = Une itération normale dure { $duration }.
run-median = L’itération médiane dure { $duration }.
run-tokens = { $tokens } tokens/s.
run-before = Dans l’entraînement précédent, elle durait { $duration } : dans celui-ci, elle dure { $share } { $pace ->
    [slower] de plus
   *[faster] de moins
  }.
run-before-times = Dans l’entraînement précédent, elle durait { $duration } : celui-ci est { $factor } fois plus { $pace ->
    [slower] lent
   *[faster] rapide
  }.
run-before-same = Dans l’entraînement précédent, elle durait à peu près autant : { $duration }.
run-regimes = La vitesse a changé : { $levels }.
run-level = { $duration } à partir de l’itération { $step }
run-evaluations-inside = Les évaluations y sont comprises : une ligne couvre les itérations qui la précèdent et leur évaluation, sans en séparer les durées.
run-sampled-by-total = Le log affiche une itération sur { $count }, et celles-là durent plus longtemps ; la durée des autres se déduit du total qu’il affiche.
run-sampled = Le log affiche une itération sur { $count } ; la durée des autres est estimée d’après les itérations affichées.
run-settings = Réglages : { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu } : { $details }.
gpu-load = utilisation { $share }
gpu-memory = { $used } sur { $total } Gio
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## Comment la vitesse évolue

trend-one = Une seule ligne ne montre aucune tendance.
trend-one-time = Une seule durée affichée ne montre aucune tendance.
trend-steady = Stable à { $share } près : aucun ralentissement dans ces lignes.
trend-steady-but = Stable à { $share } près, sauf les itérations { $first } à { $last }, plus lentes.
trend-between = Les itérations { $first } à { $last } ont duré { $level }, la plupart des autres { $normal }.
trend-scatter = Pas de tendance : les durées varient entre { $low } et { $high }.
trend-two-speeds = Deux vitesses : { $count } itérations affichées sur { $total } prennent { $own }, les autres { $others }. Les premières sont { $factor } fois plus { $pace ->
    [faster] rapides
   *[slower] lentes
}.
trend-every = Les plus { $pace ->
    [faster] rapides
   *[slower] lentes
} reviennent toutes les { $count } itérations.
trend-along = Les itérations { $pace ->
    [faster] accélèrent
   *[slower] ralentissent
} : de { $before } à { $after } dans ces lignes ({ $share }).
trend-along-times = Les itérations { $pace ->
    [faster] accélèrent
   *[slower] ralentissent
} : de { $before } à { $after } dans ces lignes (facteur { $factor }).
trend-since = Depuis l’itération { $step }, les itérations durent environ { $share } { $pace ->
    [faster] de moins
   *[slower] de plus
  } : { $before } avant, { $after } ensuite.
trend-since-times = Depuis l’itération { $step }, les itérations sont { $factor } fois plus { $pace ->
    [faster] rapides
   *[slower] lentes
  } : { $before } avant, { $after } ensuite.
data-bottleneck = L’attente des données prend { $share } du temps ({ $wait } sur { $step } par itération) : le chargement des données est le goulot d’étranglement, et le GPU attend.
data-share = L’attente des données prend { $share } du temps ({ $wait } sur { $step } par itération).
data-bottleneck-step = L’attente des données prend { $share } de chaque itération ({ $wait } sur { $step }) : le chargement des données est le goulot d’étranglement, et le GPU attend.
data-share-step = L’attente des données prend { $share } de chaque itération ({ $wait } sur { $step }).
data-first = Seule la première ligne attend les données : jusqu’à l’itération { $step }, chacune a attendu { $duration }, ensuite { $usual }. Le chargement des données ne ralentit pas le reste.
data-minor = L’attente des données prend { $share } du temps : le chargement des données n’est pas le goulot d’étranglement.
part-of-step = L’essentiel d’une itération est « { $name } » : { $duration } sur { $whole } ({ $share }).
data-by-means = L’attente des données prend { $share } du temps d’après les moyennes affichées dans le log ({ $wait } sur { $step } par itération) : les itérations affichées n’en montrent presque rien, par hasard.
data-in-means = L’attente des données prend { $share } du temps d’après les moyennes affichées dans le log ({ $wait } sur { $step } par itération).
data-at-once = L’attente des données prend { $share } du temps, presque tout à { $count ->
    [one] l’itération { $step }
   *[other] { $count } itérations lentes, la plus longue à { $step }
} ({ $duration }).
past-total = Le compteur a dépassé 100 % : l’entraînement continue à partir d’un modèle chargé, et le temps restant affiché ne veut rien dire.
rate-needs-size = Le log n’affiche que des débits : pour les secondes par itération, il faut la taille du batch.
rate-one = { $level } { $unit } par seconde sur une seule ligne : elle ne montre aucune tendance.
rate-one-time = { $level } { $unit } par seconde, affiché une seule fois : aucune tendance visible.
rate-steady = Stable à { $share } près : { $level } { $unit } par seconde.
rate-scatter = Pas de tendance : la vitesse varie entre { $low } et { $high } { $unit } par seconde.
rate-two-speeds = Deux vitesses : { $count } itérations affichées sur { $total } tournent à { $other_low }–{ $other_high } { $unit } par seconde, les autres à { $low }–{ $high }. Les premières sont { $factor } fois plus { $pace ->
    [faster] rapides
   *[slower] lentes
  }.
rate-along = La vitesse { $pace ->
    [faster] monte
   *[slower] baisse
} de { $before } à { $after } { $unit } par seconde dans ces lignes ({ $share }).
rate-along-times = La vitesse { $pace ->
    [faster] monte
   *[slower] baisse
} de { $before } à { $after } { $unit } par seconde dans ces lignes (facteur { $factor }).
rate-since = Depuis l’itération { $step }, la vitesse est environ { $share } plus { $pace ->
    [faster] élevée
   *[slower] basse
  } : { $before } { $unit } par seconde avant, { $after } ensuite.
rate-since-times = Depuis l’itération { $step }, la vitesse est { $factor } fois plus { $pace ->
    [faster] élevée
   *[slower] basse
  } : { $before } { $unit } par seconde avant, { $after } ensuite.

## Où est passé le temps

section-time = Où est passé le temps
section-slow = Itérations lentes
section-finish = Heure de fin
section-change = À changer
section-alarms = Alertes
section-normal = Itérations normales
section-log = Ce qui a été lu
time-table-phase = phase
time-table-time = temps
time-table-share = part
time-table-range = fourchette
time-table-basis = méthode
time-total = total

## Itérations lentes

slow-none = Aucune itération n’a été plus lente que ses voisines.
slow-none-alone = Aucune itération ne se détache de ses voisines.
slow-column-step = itération
slow-column-took = durée
slow-column-why = composée de
slow-more = { $count ->
    [one] … et une autre : { $causes }
   *[other] … et { $count } autres : { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = évaluation
cause-checkpoint = checkpoint
cause-warmup = préchauffage
cause-data = données
cause-gc = ramasse-miettes
cause-unexplained = inexpliqué
slow-unexplained = { $count ->
    [one] Une itération lente reste inexpliquée ({ $duration } de plus que la normale).
   *[other] { $count } itérations lentes restent inexpliquées ({ $duration } de plus que la normale en tout).
  }
slow-first-no-save = Aucun checkpoint n’est enregistré à l’itération 0. Le temps hors évaluation est du préchauffage : compilation et première utilisation du GPU.
split-stamps = Les horodatages des lignes séparent l’évaluation du checkpoint.
split-contrast = La comparaison des évaluations avec et sans checkpoint permet de séparer l’évaluation du checkpoint.
split-first-step = La première évaluation, qui n’enregistre rien, permet de séparer l’évaluation du checkpoint.
split-model = Ce log ne permet pas de séparer l’évaluation du checkpoint, car chaque checkpoint suit une évaluation. La répartition est estimée d’après le nombre de passes forward et la durée habituelle d’un checkpoint ; les fourchettes en montrent l’incertitude.
split-guess = Ce log ne permet pas de séparer l’évaluation du checkpoint, car chaque checkpoint suit une évaluation et le nombre de batches par évaluation est inconnu (indiquez --set eval_iters=N). La répartition est estimée d’après la durée habituelle d’un checkpoint ; les fourchettes en montrent l’incertitude.
split-guess-plain = Ce log ne permet pas de séparer l’évaluation du checkpoint, car chaque checkpoint suit une évaluation. La répartition est estimée d’après la durée habituelle d’un checkpoint ; les fourchettes en montrent l’incertitude.
split-not-yet = Il est trop tôt pour savoir ce que coûte un checkpoint : il faut environ { $needed } évaluations avec et sans checkpoint, et le log en contient { $count }.
split-settle = Pour des chiffres exacts, ajoutez des horodatages au log : { $command }
stamps-unusable = Les horodatages contredisent les temps affichés (pipe avec tampon par blocs ?) et sont ignorés. Lancez python avec -u.
arrivals-unused = L’heure d’arrivée enregistrée des lignes contredit les temps qu’elles affichent ; les temps affichés sont utilisés.
evidence-marker = suit « { $line } »
evidence-markers = suit « { $line } » et « { $save } »
evidence-first = la première itération du processus : compilation et première utilisation du GPU
evidence-unprinted = ce programme évalue toujours à cette itération ; sa ligne n’est pas dans le log
evidence-inside = mesuré dans le processus : { $parts }
evidence-none = aucune ligne n’en donne la raison ; { $duration } de plus que ses voisines

## Heure de fin

finish-left = temps restant : { $duration } ({ $span } à { $confidence })
finish-at = fin prévue : { $time } ({ $low } – { $high })
finish-from-flag = compté à partir de { $time }, comme indiqué
finish-from-stamp = compté à partir de { $time }, le dernier horodatage du log
finish-from-stamp-plus = compté à partir de { $time }, le dernier horodatage, plus { $duration } d’itérations affichées ensuite
finish-from-no-year = { $text } ; l’année n’y figure pas, { $year } est supposée d’après la date du fichier
finish-from-no-day = { $text } ; la date n’y figure pas, le jour est supposé d’après la date du fichier
finish-from-nvidia-smi = compté à partir de { $time }, l’heure du tableau nvidia-smi
finish-from-mtime = compté à partir de { $time }, dernière écriture du fichier
finish-from-clock = compté à partir de maintenant, { $time }
finish-ended = L’exécution est terminée. Si elle reprenait maintenant à sa dernière itération, il lui faudrait ce temps.
finish-complete = L’exécution est allée à son terme : itération { $step } sur { $total }.
left-step = { $count ->
    [one] une itération
   *[other] { $count } itérations
  }
left-evaluation = { $count ->
    [one] une évaluation
   *[other] { $count } évaluations
  }
left-checkpoint = { $count ->
    [one] un checkpoint
   *[other] { $count } checkpoints
  }
left-priced = { $what } ({ $duration })
left-unpriced = { $what } (coût inconnu)
left-line = Reste à faire : { $items }.
finish-next-evaluation = Prochaine évaluation à l’itération { $step }.
rough-own = Temps restant : environ { $duration } d’après le programme ; ces lignes seules ne permettent pas de meilleure estimation.
rough-own-first = Temps restant : environ { $duration } d’après le programme. Ce chiffre repose sur la première et seule itération, préchauffage compris ; les suivantes sont en général plus rapides.
rate-and-time = { $rate } { $unit } par seconde et { $duration } par itération font { $count } { $unit } par itération.
skipped-few = { $count ->
    [one] Un pas de l’optimiseur a été sauté
   *[other] { $count } pas de l’optimiseur ont été sautés
} jusqu’ici.
finish-last-event = Le dernier événement du log est « { $phase } » (ligne { $line }) ; aucune itération n’est affichée ensuite.
rough-bar = Temps restant sur cette barre de progression, qui ne couvre peut-être qu’une époque parmi d’autres : environ { $duration }.
rough-few = Temps restant à cette vitesse : environ { $duration }{ $range }. C’est une estimation grossière, sur très peu de lignes.
rough-two = Il reste entre { $low } et { $high } : la vitesse moyenne de la barre de progression et son dernier débit diffèrent d’un facteur { $factor }.
rough-first = Temps restant si toutes les itérations durent autant que cette première : environ { $duration }{ $range }. Elle comprend le préchauffage, l’estimation est donc grossière.
finish-none = Pas d’heure de fin : { $reason }
finish-none-rough = Pas encore d’estimation plus fiable : { $reason }
finish-rate = Au rythme actuel de { $duration } par itération, les 1 000 prochaines prendront { $thousand }.
finish-rate-evaluations = Au rythme actuel de { $duration } par itération, les 1 000 prochaines prendront { $thousand }, { $count ->
        [one] une évaluation comprise
       *[other] { $count } évaluations comprises
    }.
reason-no-steps = aucune itération chronométrée pour l’instant. Réessayez quand le log aura quelques lignes de plus.
reason-times-doubt = « { $text } » peut être le temps d’une itération ou celui de { $count } ; rien dans le log ne permet de trancher.
reason-no-times = le log contient des itérations, mais pas leurs durées.
reason-no-total = le log n’indique pas le nombre total d’itérations. Indiquez --max-steps N, ou --config avec les réglages de l’exécution.
reason-loop-of-fits = le log montre { $count } appels successifs à fit, d’une seule époque chacun ; il n’indique pas combien il en reste.
reason-implausible-total = le total indiqué de { $total } itérations n’est pas plausible : à la vitesse actuelle, il faudrait encore { $left }. Indiquez --max-steps N.
reason-too-few = { $count ->
    [one] une seule itération normale a été affichée ; il en faut trois pour estimer une vitesse. Réessayez quand le log aura quelques lignes de plus.
   *[other] seules { $count } itérations normales ont été affichées ; il en faut trois pour estimer une vitesse. Réessayez quand le log aura quelques lignes de plus.
  }
assume-level = On suppose que la vitesse actuelle se maintient : { $duration } par itération.
assume-no-evaluations = Les évaluations ne sont pas comprises : leur intervalle est inconnu. Indiquez --set eval_interval=N.
assume-evaluations-unannounced = Les évaluations à venir sont estimées : leur intervalle est inconnu, et aucune n’a eu lieu depuis la première itération. Indiquez --set eval_interval=N.
assume-evaluation-unpriced = Les évaluations ne sont pas comprises : aucune n’a encore été mesurée, et le nombre de batches par évaluation est inconnu. Indiquez --set eval_iters=N.
assume-evaluation-prior = Aucune évaluation n’a encore été mesurée : son coût est calculé d’après le nombre de passes forward.
assume-save-prior = Aucun checkpoint n’a encore été mesuré : on suppose un coût habituel.
assume-evaluation-outside = L’horloge de ce log s’arrête pendant les évaluations, et rien d’autre ne montre ce qu’elles coûtent. Le temps restant est compté sur cette horloge, sans elles ; seule la borne haute de l’intervalle leur laisse de la place.
assume-saves = On suppose un checkpoint après { $share } des évaluations, comme récemment.
assume-default-interval = On suppose l’intervalle d’évaluation par défaut du programme, { $count } itérations ; le log ne l’a pas encore confirmé. Indiquez --set eval_interval=N.
assume-further-trainings = { $count ->
    [one] Après cet entraînement, il en reste un autre, de { $steps } itérations lui aussi ; sa durée est comprise.
   *[other] Après cet entraînement, il en reste { $count } autres, de { $steps } itérations chacun ; leur durée est comprise.
}
assume-default-total = On suppose le nombre d’itérations par défaut du programme, { $count } ; le total n’est indiqué nulle part.

## À changer

change-none = Rien ne mérite d’être changé : les évaluations et les checkpoints prennent { $share } du temps.
change-none-data = Accélérez le chargement des données : leur attente prend { $share } du temps.
change-unknown = Pas de conseil : ce log ne montre pas ce que coûtent les évaluations.
change-scope-rest = Gains sur le reste de cette exécution. Ils se recoupent : ne les additionnez pas.
change-scope-run = Gains sur une exécution comme celle-ci. Ils se recoupent : ne les additionnez pas.
change-line = { $change } : gain de { $duration } ({ $span })
advice-a101-costs = Vous voyez la perte de validation { $factor } fois moins souvent. Les checkpoints ne sont enregistrés qu’après une évaluation : un plantage peut faire perdre jusqu’à { $steps } itérations ({ $duration }).
advice-a101-evidence = { $count } évaluations de { $duration } chacune prennent { $share } du temps. Avec un intervalle plus grand, il y en a moins.
advice-a102-costs = L’erreur type de la perte de validation passe de { $before } à { $after }.
advice-a102-costs-unknown = L’erreur type de la perte de validation est multipliée par { $factor } ; ce log contient trop peu de pertes pour en connaître la valeur de départ.
advice-a102-evidence = Chaque évaluation porte sur { $count } batches { $splits ->
    [one] d’un jeu de données
   *[other] de chacun des { $splits } jeux de données
  }. Le coût croît avec le nombre de batches, la précision seulement avec sa racine carrée.
advice-a103-costs = Les évaluations n’affichent plus la perte d’entraînement ; les lignes d’itération la donnent de toute façon. Il faut modifier estimate_loss dans train.py.
advice-a103-evidence = La moitié de chaque évaluation porte sur le jeu d’entraînement.
advice-a104-costs = Après un plantage, l’exécution reprend au meilleur checkpoint et non au dernier.
advice-a104-evidence = Les checkpoints prennent { $share } du temps ; { $improving } des dernières évaluations ont amélioré le meilleur résultat précédent.

## Alertes

alarm-nan = { $count ->
    [one] La perte est NaN ou infinie à partir de l’itération { $step } (une fois dans le log). Tout ce qui suit est perdu.
   *[other] La perte est NaN ou infinie à partir de l’itération { $step } ({ $count } fois dans le log). Tout ce qui suit est perdu.
  }
alarm-oom = Mémoire saturée : { $text }
alarm-crash = Traceback ou signal fatal : { $text }
alarm-interrupted = L’exécution a été interrompue : { $text }
alarm-ended-early = L’exécution s’est arrêtée avant la fin, après l’itération { $step } sur { $total }.
alarm-ended-early-unknown = L’exécution s’est arrêtée après l’itération { $step } ; le log ne dit pas combien étaient prévues.
alarm-ended-before-steps = L’exécution s’est arrêtée avant la fin de sa première itération.
alarm-restarted = { $count ->
    [0] Après l’itération { $before }, l’exécution a redémarré à l’itération { $step }.
    [one] Après l’itération { $before }, l’exécution a redémarré à l’itération { $step } : une itération ({ $lost }) a été faite deux fois.
   *[other] Après l’itération { $before }, l’exécution a redémarré à l’itération { $step } : { $count } itérations ({ $lost }) ont été faites deux fois.
  }
alarm-slowdown = Depuis l’itération { $step }, les itérations durent { $share } de plus : { $before } avant, { $after } depuis.
alarm-contradiction = Valeur indiquée pour { $setting } : { $stated } ; le log montre { $seen }, et c’est la valeur du log qui est retenue.
alarm-contradiction-mfu = Valeur indiquée pour { $setting } : { $stated } ; or le MFU et les temps affichés correspondent à { $seen }. Vérifiez la configuration, ou si cette copie du programme calcule son MFU avec le pic d’un autre GPU.
state-total = l’itération { $step } sur { $total } est la dernière
state-words = le log dit : { $text }
state-last-printed = l’itération { $step } est la dernière affichée dans le log sur { $total }, et ce qui suit la dernière itération est fait
state-after-stop = le log s’arrête juste après une évaluation ou un checkpoint, qui y sont rares ; rien n’indique qu’il restait quelque chose à faire
state-silent = le log s’arrête sans message, et rien n’indique quand il a été écrit
state-last-written = dernière ligne : { $at } ; intervalle habituel entre deux lignes : { $usual }
reason-over-state-total = l’exécution est allée à son terme : itération { $step } sur { $total }.
reason-over-state-words = l’exécution est terminée. Le log dit : { $text }
reason-over-state-last-printed = l’exécution est allée à son terme : l’itération { $step } est la dernière affichée dans le log sur { $total }.
state-exit = la commande s’est terminée avec le code de sortie { $code }
state-signal = la commande a été arrêtée par { $name } (code de sortie { $code })
reason-over-state-exit = l’exécution est terminée : la commande a renvoyé le code de sortie { $code }.
reason-over-state-signal = l’exécution est terminée : la commande a été arrêtée par { $name } (code de sortie { $code }).
alarm-crash-code = Traceback ou signal fatal : { $text } (code de sortie { $code })
alarm-exit-code = La commande a échoué avec le code de sortie { $code } ; sa sortie n’en donne pas la raison.
alarm-signal = La commande a été arrêtée par { $name } (code de sortie { $code }).
alarm-killed = La commande a été tuée par { $name } (code de sortie { $code }), souvent faute de mémoire ; dmesg le montrerait.
alarm-walltime = Fin du job : { $time }. Probabilité que l’exécution soit finie avant : { $share } (l’itération { $step } sur { $total } est la dernière qui peut être enregistrée à temps).
alarm-save-now = Enregistrez un checkpoint maintenant. Fin du job : { $time } ; l’itération { $step } est la dernière qui peut être enregistrée à temps.
alarm-nan-passed = { $count ->
    [one] À l’itération { $step }, la perte n’est pas un nombre ; elle est de nouveau finie à partir de l’itération { $later }.
   *[other] À { $count } reprises, la perte n’est pas un nombre, la première fois à l’itération { $step } ; elle est de nouveau finie à partir de l’itération { $later }.
  }
alarm-nan-unread = { $count } lignes affichent une perte qui n’est pas un nombre, à commencer par la ligne { $line }.
alarm-skipped-steps = { $count } pas d’optimiseur sur { $total } ({ $share }) ont été sautés : leurs gradients n’étaient pas finis, aucun poids n’a donc changé.
alarm-skipped-since = Depuis l’itération { $step } et jusqu’à l’itération { $last }, tous les pas de l’optimiseur ont été sautés : plus aucun poids ne change.
alarm-memory-pressure = { $count } lignes indiquent que la mémoire du GPU est si pleine que PyTorch vide son cache, ce qui ralentit les itérations : { $text }
alarm-memory-ran-out = La mémoire du GPU a été épuisée, et le programme a continué : { $text }
alarm-line = ligne { $line }

## Ce qui a été lu

read-unread = { $unread ->
    [one] Une seule des { $lines } lignes n’a pas été comprise, la ligne { $line } : { $text }
   *[other] { $unread } lignes sur { $lines } n’ont pas été comprises, à commencer par la ligne { $line } : { $text }
  }
read-all = Les { $lines } lignes ont toutes été comprises.

## Notes

note-title = { $count ->
    [one] Pourquoi l’itération { $steps } était lente
   *[other] Pourquoi les itérations { $steps } étaient lentes
  }
note-title-many = Pourquoi { $count } itérations étaient lentes
note-title-none = Où est passé le temps d’un entraînement
note-title-eta = Durée d’entraînement estimée : environ { $duration }
note-title-eta-none = Durée d’entraînement estimée : encore inconnue
note-intro = { $count ->
    [one] Une itération lente a été trouvée dans { $lines } lignes de log.
   *[other] { $count } itérations lentes ont été trouvées dans { $lines } lignes de log.
  }
note-intro-none = Aucune itération lente n’a été trouvée dans { $lines } lignes de log.
note-slow-lines = Voici ce que montre le log à cet endroit :
note-list-and = { $first } et { $last }
section-progress = Progression
section-evaluations = Évaluations restantes
section-estimate = Estimation du temps
note-progress-done = { $step } itérations sur { $total } sont faites.
note-progress-left = Itérations restantes : { $count }.
note-evaluation-every = Une évaluation a lieu toutes les { $every } itérations et dure { $duration } ({ $span }).
note-evaluation-next = La prochaine a lieu à l’itération { $next }, puis { $after }, etc., la dernière à { $last }.
note-evaluation-left = Évaluations restantes : { $count }.
note-evaluation-unknown = La fréquence des évaluations est inconnue.
note-total = Temps total restant : { $duration }.
note-interval = Fourchette : { $span }, à { $confidence }.
note-hardware-assumed = D’après nvidia-smi : { $details }.

## Commandes

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = Le temps couvre : { $covers } ; y sont inclus : { $includes }.
formats-lines = Lignes qu’il reconnaît :
formats-try-none = Aucun format connu ne correspond à ce fichier.
formats-try-claimed = { $name } : { $count } lignes reconnues sur { $lines }, dont { $steps } avec une itération
demo-intro = Le cas de référence : nanoGPT sur une RTX 4070 à 02:30. Pour le reproduire : { $command }
written = écrit : { $path }
doc-in-english = Ces pages n’existent qu’en anglais.
error-title = erreur
error-try = essayez

## Erreurs

error-no-such-file = ce fichier n’existe pas
    .hint = { $nearby ->
        [none] vérifiez le chemin ; un dossier, - pour l’entrée standard, et les fichiers .gz, .xz, .zst conviennent aussi
       *[other] vouliez-vous dire { $nearby } ?
      }
error-unreadable = illisible : { $reason }
    .hint = vérifiez ses droits : ls -l { $place }
error-folder-without-log = ce dossier ne contient aucun log d’entraînement, seulement { $count ->
    [one] { $names }
   *[other] { $count } autres fichiers : { $names }
  }
    .hint = indiquez le log lui-même, ou enregistrez une exécution : stepscope run -- python train.py
error-folder-empty = ce dossier ne contient aucun fichier lisible
    .hint = indiquez le log lui-même, ou enregistrez une exécution : stepscope run -- python train.py
error-empty = le fichier est vide
    .hint = la sortie du programme est-elle mise en tampon ? Lancez python avec -u et réessayez quand il aura affiché quelque chose
error-binary = ce n’est pas un fichier texte
    .hint = indiquez ce que le programme a affiché, par exemple : python -u train.py | tee train.log
error-broken-archive = le fichier compressé ne peut pas être ouvert : { $reason }
    .hint = décompressez à la main ce qui en reste : zcat { $place } | stepscope -
error-broken-database = la base de données est illisible : { $reason }
    .hint = récupérez ce qui reste avec sqlite3 { $place } .recover, ou exportez les métriques en CSV
error-no-metrics-table = la base de données n’a pas de table metrics : ce n’est pas celle de MLflow
    .hint = indiquez le log de l’entraînement, ou exportez ses métriques en CSV ou en lignes JSON
error-not-a-training-log = aucun format connu ne correspond à ce fichier, et sa structure n’est pas celle d’un log d’entraînement
    .hint = stepscope formats try { $path } --suggest     montre jusqu’où va chaque format et comment en définir un nouveau
error-nvidia-smi-table = ceci est la sortie de nvidia-smi, pas un log d’entraînement
    .hint = stepscope train.log --nvidia-smi { $path }     explique un log avec elle
error-no-format-fits = aucun format connu ne correspond à ce fichier ; des lignes comme celle-ci sont peut-être des itérations, mais on ne sait pas lequel de leurs nombres est l’itération ou le temps
    .hint = stepscope formats try { $path } --suggest     montre jusqu’où va chaque format et comment en définir un nouveau
error-no-such-config = ce fichier de configuration n’existe pas
    .hint = --config attend le fichier avec lequel l’exécution a été lancée, par exemple config/train_gpt2.py
error-config-is-folder = la configuration est un dossier
    .hint = indiquez le fichier lui-même
error-config-too-large = trop gros pour un fichier de configuration
    .hint = est-ce le log ? stepscope { $place }
error-config-not-text = la configuration n’est pas un fichier texte
    .hint = --config attend le config.py de nanoGPT, du JSON ou du TOML
error-config-syntax = la configuration ne peut pas être analysée : { $reason }
    .hint = corrigez-la, ou indiquez ce qui compte : --set max_iters=20000 --set eval_interval=500
error-config-too-deep = la configuration compte plus de { $limit } niveaux d’imbrication
    .hint = indiquez seulement ce qui compte : --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = la configuration contient plus de { $limit } valeurs une fois ses alias développés
    .hint = indiquez seulement ce qui compte : --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = ce n’est pas un tableau nvidia-smi
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = plus de { $size } sont arrivés par ce pipe
    .hint = enregistrez un seul relevé : nvidia-smi > smi.txt
error-bad-setting = --set attend clé=valeur
    .hint = par exemple : --set eval_interval=500
error-unknown-setting = réglage inconnu
    .hint = { $nearest ->
        [none] au choix : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-bad-count = { $setting } doit être un nombre entier supérieur ou égal à 1
    .hint = par exemple : --set { $setting }=500
error-bad-max-steps = --max-steps attend un nombre entier supérieur ou égal à 1
    .hint = par exemple : --max-steps 20000
error-bad-moment = ce n’est pas une heure valide : { $text }
    .hint = par exemple : --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence doit être entre 0.5 et 0.99
    .hint = par exemple : --confidence 0.9
error-bad-language = langue inconnue : { $text }
    .hint = { $nearest ->
        [none] au choix : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-bad-choice = { $flag } n’accepte pas la valeur { $text }
    .hint = { $nearest ->
        [none] au choix : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-no-such-command = commande inconnue
    .hint = { $nearest ->
        [none] au choix : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-unknown-flag = option inconnue : { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     donne la liste des options
       *[other] vouliez-vous dire { $nearest } ?
      }
error-unknown-command = ni une commande ni un fichier
    .hint = vouliez-vous dire stepscope { $nearest } ?
error-too-many-arguments = trop d’arguments pour { $command }
    .hint = { $command } --help     affiche l’aide
error-wrong-usage = { $reason }
    .hint = { $command } --help     affiche l’aide
error-missing-argument = il manque un argument : { $missing }
    .hint = { $command } --help     affiche l’aide
error-missing-value = { $flag } attend une valeur
    .hint = { $command } --help     affiche l’aide
error-languages-need-folder = plusieurs langues donnent plusieurs fichiers
    .hint = indiquez un dossier où les écrire : -o notes/
error-no-such-format = format inconnu
    .hint = { $nearest ->
        [none] stepscope formats     en donne la liste
       *[other] vouliez-vous dire { $nearest } ?
      }
error-no-such-code = code inconnu
    .hint = au choix : { $known }
error-cannot-write = impossible d’écrire : { $reason }
    .hint = choisissez un autre emplacement avec -o
error-unread-lines = { $count ->
    [one] une ligne n’a pas été comprise (--strict)
   *[other] { $count } lignes n’ont pas été comprises (--strict)
  }
    .hint = stepscope formats try { $path }     les affiche

## Un plan avant l’exécution

plan-model = Paramètres : { $parameters } ({ $layers } couches × { $hidden }, contexte { $context }, vocabulaire { $vocabulary })
plan-training = { $steps } itérations de { $tokens } tokens (batch_size { $batch } × gradient_accumulation_steps { $accumulation } × { $context }) ; { $flops } GFLOP par token.
plan-memory = Mémoire avec batch_size { $batch } : { $parts }.
plan-memory-weights = poids
plan-memory-gradients = gradients
plan-memory-optimizer = optimiseur
plan-memory-activations = activations
plan-memory-logits = logits
plan-memory-context = contexte CUDA
plan-row-memory = mémoire (Gio)
plan-row-largest = batch_size maximal
plan-row-step = itération
plan-row-band = … bande à 90 %
plan-row-tokens = tokens par seconde
plan-row-utilisation = MFU de ce GPU
plan-row-evaluation = une évaluation
plan-row-checkpoint = un checkpoint
plan-row-total = toute l’exécution
plan-row-finish = fin
plan-row-energy = énergie
plan-row-cost = coût
plan-fits = { $used } sur { $total }
plan-fits-barely = { $used } sur { $total }, tout juste
plan-fits-not = { $used } sur { $total }, trop
plan-fits-nothing = { $gpu } : pas même une séquence ne tient dans sa mémoire. Prenez un modèle ou un contexte plus petit.
plan-calibrating = mesure de cette machine…
plan-note-calibrated = Mesuré ici ({ $gpu }) : { $tflops } TFLOPS, mémoire { $bandwidth } Go/s, disque { $disk } Mo/s.
plan-note-defaults = Non indiqués, valeurs par défaut du programme : { $names }.
plan-note-derived = La taille du modèle n’est pas indiquée. D’après la durée ({ $duration } pour { $tokens } tokens sur { $gpu }), il compte entre { $low } et { $high } de paramètres ; le tableau prend une valeur intermédiaire. Pour des chiffres exacts, indiquez-la : --params, ou n_layer et n_embd dans la configuration.
plan-note-derived-memory = La taille du modèle n’est pas indiquée. D’après la durée ({ $duration } pour { $tokens } tokens sur { $gpu }) et la mémoire utilisée, il compte entre { $low } et { $high } de paramètres ; le tableau prend une valeur intermédiaire. Pour des chiffres exacts, indiquez-la : --params, ou n_layer et n_embd dans la configuration.
error-unknown-card = GPU inconnu
    .hint = par exemple : { $known }
error-plan-needs-card = quel GPU ?
    .hint = indiquez-le : --gpu 4070, ou plusieurs : --gpu 4070,4080,4090 ; ou mesurez cette machine : --calibrate
error-plan-needs-model = quel modèle ?
    .hint = --config config/train_gpt2.py, ou --params 124M, ou --layers 12 --hidden 768
error-plan-shape-missing = il manque à la configuration ce qui détermine la taille du modèle : { $names }
    .hint = ajoutez-le avec --set, ou indiquez la taille : --params 7B
error-plan-bad-shape = aucun modèle ne peut avoir cette forme
    .hint = par exemple : --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = ce n’est pas un nombre de paramètres valide
    .hint = par exemple : --params 124M
error-bad-devices = --devices attend un nombre entier supérieur ou égal à 1
    .hint = par exemple : --devices 8
error-bad-price = ce n’est pas un prix valide
    .hint = par exemple : --price 0.40/h ou --price 0.30/kWh
error-plan-from-needs-card = sur quel GPU ce log a-t-il été écrit ?
    .hint = --from-gpu 4070, ou un tableau enregistré : --nvidia-smi nvidia-smi.txt
error-plan-needs-context = combien de tokens compte une séquence ? Le log ne le dit pas
    .hint = par exemple : --context 1024
error-plan-log-untimed = ce log ne contient aucune itération normale chronométrée pour la calibration
    .hint = planifiez sans lui, ou réessayez quand il aura quelques lignes de plus
error-plan-not-derived = aucun modèle de forme courante ne prend autant de temps sur ce GPU : le GPU et la taille du batch sont-ils corrects ?
    .hint = indiquez le modèle : --params 124M
## Plusieurs entraînements, plusieurs processus
alarm-trainings = Le log contient { $count } entraînements à la suite. Ce rapport concerne le dernier, à partir de la ligne { $line } ; le temps des autres est dans le décompte.
alarm-writers = { $count ->
    [one] Deux processus écrivent dans ce log. Une itération de l’autre n’est pas comptée.
   *[other] Deux processus écrivent dans ce log. { $count } itérations de l’autre ne sont pas comptées.
  }
alarm-straggler = Le rank { $rank } est plus lent que les autres de { $share } : { $own } par itération au lieu de { $others }. Tous les ranks l’attendent.
alarm-straggler-host = Le rank { $rank } sur { $host } est plus lent que les autres de { $share } : { $own } par itération au lieu de { $others }. Tous les ranks l’attendent.

## D’autres conseils, et ce que ferait un changement

advice-a102-costs-seen = L’erreur type de la perte de validation passe de { $before } à { $after } ; la perte baisse encore de { $gain } entre deux évaluations, la tendance reste donc nette.
advice-a102-costs-unseen = L’erreur type de la perte de validation passe de { $before } à { $after } ; la perte ne baisse que de { $gain } entre deux évaluations, trop peu pour qu’une seule évaluation le montre encore.
advice-a105-costs = La courbe est plus lisse, mais décalée d’une constante d’environ { $offset } ; faites une grande évaluation à la fin. Il faut modifier l’évaluation : tirer ses batches avec la même graine à chaque fois.
advice-a105-costs-unknown = La courbe est plus lisse, mais décalée d’une constante ; faites une grande évaluation à la fin. Il faut modifier l’évaluation : tirer ses batches avec la même graine à chaque fois.
advice-a105-evidence = Chaque évaluation tire { $count } nouveaux batches. Avec les mêmes batches à chaque fois, les différences sont 4 à 7,6 fois moins bruitées à coût égal : { $fewer } suffisent pour voir la tendance.
advice-a107-costs = Il suffit de modifier le code : chaque rank évalue sa part des mêmes batches, et l’on prend la moyenne des pertes.
advice-a107-evidence = Un rank sur { $count } évalue pendant que les autres attendent.
advice-a108-costs = Un plantage peut faire perdre jusqu’à { $duration } de travail.
advice-a108-evidence = Un checkpoint arrête l’entraînement pendant { $duration } ; avec en moyenne { $between } entre deux plantages, la règle de Daly donne { $best } comme meilleur intervalle.
advice-a109-costs = De la mémoire de l’hôte pour une copie de l’état, et des itérations un peu plus lentes pendant l’écriture.
advice-a109-evidence = Les checkpoints arrêtent l’entraînement pendant { $share } du temps.
advice-a111-costs = La mémoire retenue par des cycles de références n’est libérée que lorsque vous lancez le ramasse-miettes, tous les quelques milliers d’itérations.
advice-a111-evidence = Le ramasse-miettes prend { $share } du temps.
advice-a112-costs = De la mémoire de l’hôte et du temps CPU pour les processus de chargement.
advice-a112-evidence = L’attente des données prend { $share } du temps.
advice-a113-costs = Les mêmes tokens par itération : batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Les résultats ne diffèrent que par les arrondis. Si la mémoire ne suffit pas, revenez en arrière.
advice-a113-evidence = La mémoire du GPU n’est utilisée qu’à { $share }.
advice-a114-costs = float16 exige une mise à l’échelle de la perte, que nanoGPT, Hugging Face et Lightning font eux-mêmes ; les pertes diffèrent légèrement.
advice-a114-evidence = { $gpu } n’a pas de bfloat16 matériel : il est émulé à environ un dixième de la vitesse.
advise-paste = tapez : { $paste }
advise-keeps = Ne change pas ce que le modèle apprend.
advise-changes = Change ce que le modèle apprend.
section-whatif = Ce que cela changerait
whatif-change = { $setting } : { $now } → { $then }
whatif-saves = Gain de { $duration } ({ $span }).
whatif-costs = Coûte { $duration } de plus ({ $span }).
whatif-same = Ne change rien à la durée.
whatif-left = Temps restant : { $duration } au lieu de { $before } ({ $span } à { $confidence })
whatif-run = Une exécution comme celle-ci prend { $duration } au lieu de { $before }.
whatif-precision = L’erreur type de la perte de validation passe de { $before } à { $after }.
whatif-unknown = Ce log ne permet pas de dire quel effet { $names } aurait sur la durée.
error-bad-change = --change attend clé=valeur
    .hint = par exemple : --change eval_interval=1000
error-bad-change-value = { $setting } doit être un nombre entier supérieur ou égal à 1
    .hint = par exemple : --change { $setting }=500

## Le GPU

card-mfu = { $gpu } : { $share } de ses { $peak } TFLOPS (MFU par rapport au pic de ce GPU).
card-normal = C’est normal pour ce GPU : avec un modèle de cette taille, on attend { $span }.
card-slow = C’est lent pour ce GPU : avec un modèle de cette taille, on attend { $span }.
card-fast = C’est plus rapide que prévu : avec un modèle de cette taille, on attend { $span }.
alarm-hang = Un rank ne répondait plus et les autres ont abandonné : { $text }
alarm-hang-after = Un rank ne répondait plus, et les autres ont abandonné après { $duration } : { $text }
alarm-false-done = La ligne { $line } dit que l’entraînement est terminé, mais la dernière itération est { $step } sur { $total }.
alarm-false-done-empty = { $count ->
    [one] La ligne { $line } dit que l’entraînement est terminé, mais ce lancement a planté avant sa première itération.
   *[other] En tout, { $count } lignes, dont la ligne { $line }, disent que l’entraînement est terminé, mais ces lancements ont planté avant leur première itération.
  }

## Le programme

train-loading = Démarrage de PyTorch et préparation des données…
train-progress = itération { $iteration } sur { $last }, temps restant : { $left }
train-doing-evaluation = itération { $iteration } sur { $last } : évaluation…
train-doing-checkpoint = itération { $iteration } sur { $last } : copie du checkpoint en mémoire…
train-doing-compile = compilation…
train-doing-sampling = { $last } itérations faites : génération d’un exemple de texte…
train-doing-waiting = attente de l’écriture du dernier checkpoint sur le disque…
train-opening-what = Un petit GPT apprend le Python de la bibliothèque standard en quelques minutes.
train-opening-when = { $iterations } itérations sur { $device } ; toutes les { $interval }, évaluation et checkpoint ({ $folder }).
train-opening-end = À la fin : ce qu’il sait écrire et où est passé le temps. Ctrl-C l’enregistre.
train-sample-before = Ce qu’il écrit avant d’avoir appris quoi que ce soit :
train-sample = Ce qu’il écrit après { $iteration } itérations :
train-ledger = Où est passé le temps ({ $wall }, { $iterations } itérations) :
train-phase-data = lecture des données
train-phase-forward = passe forward
train-phase-backward = passe backward
train-phase-optimizer = optimiseur
train-phase-device = attente du périphérique
train-phase-evaluation_train = évaluation, jeu d’entraînement
train-phase-evaluation_val = évaluation, jeu de validation
train-phase-checkpoint_staging = checkpoint : copie en mémoire
train-phase-checkpoint_waiting = checkpoint : attente de l’écriture
train-phase-logging = écriture du log
train-phase-gc = ramasse-miettes
train-phase-compile = compilation
train-phase-startup = démarrage
train-phase-sampling = génération de texte
train-phase-other = autres
train-saves = { $count ->
    [one] Un checkpoint de { $size } Mo, écrit en { $written } en arrière-plan ; l’entraînement s’est arrêté pendant { $stalled }.
   *[other] { $count } checkpoints de { $size } Mo chacun, écrits en { $written } en arrière-plan ; l’entraînement s’est arrêté pendant { $stalled }.
  }
train-saved-wait = Attendre le disque aurait coûté { $saved } de plus.
train-interference = Pendant l’écriture, les itérations ont pris { $ratio } fois le temps des autres.
train-more = Le checkpoint et les logs sont dans { $folder }. Et ensuite :
train-stopped = { $signal } : entraînement arrêté avant l’itération { $iteration }, checkpoint enregistré. Pour reprendre : { $command }
train-no-wandb = wandb_log est activé, mais wandb n’est pas installé (pip install wandb). L’entraînement continue ; ses chiffres sont dans steps.jsonl, dans le dossier de l’exécution.
train-no-tensorboard = tensorboard est activé, mais TensorBoard n’est pas installé (pip install tensorboard). L’entraînement continue ; ses chiffres sont dans steps.jsonl, dans le dossier de l’exécution.
train-no-tracker = { $name } n’a pas pu démarrer ({ $reason }). L’entraînement continue sans lui.
train-kept = Les logs et le meilleur checkpoint de l’exécution précédente de ce dossier sont maintenant dans { $folder }.
train-unknown-setting = { $setting } dans { $path } n’est pas un réglage de ce programme et n’a aucun effet.
train-bf16-crashes = bfloat16 plante sur ce CPU (testé dans un processus fils) : entraînement en float32.
train-bf16-faster = bfloat16 prend { $ratio } fois le temps de float32 sur ce CPU (testé dans un processus fils) : l’entraînement l’utilise ; --dtype=float32 pour la pleine précision.
train-bf16-slower = bfloat16 prend { $ratio } fois le temps de float32 sur ce CPU (testé dans un processus fils) : entraînement en float32.
train-cuda-only = { $dtype } est réservé à CUDA : entraînement en float32 sur { $device }.
train-staging = Les checkpoints gardent une copie de { $size } Go dans la mémoire de l’hôte pour que l’entraînement n’attende pas le disque (avec --staging=False, il attend et aucune copie n’est gardée).
train-staging-tight = Les checkpoints gardent une copie de { $size } Go dans la mémoire de l’hôte, où il ne reste que { $left } Go. Avec --staging=False, il n’y a pas de copie et l’entraînement attend le disque.
train-broken-checkpoint = Checkpoint incomplet, essai du précédent : { $path } ({ $reason }).
train-from-checkpoint = { $setting } vaut { $value } dans le checkpoint, qui l’emporte sur { $asked }.
train-other-batches = Les batches ne sont pas ceux du checkpoint (autres tailles, autre évaluation ou autre nombre de processus) : l’ordre des données repart du début.
train-save-failed = ALERTE : le checkpoint de l’itération { $iteration } n’a pas été écrit : { $reason }. L’entraînement continue ; le checkpoint précédent est intact.
data-ready = { $folder } : { $train } tokens pour l’entraînement, { $val } pour la validation
data-use = Pour l’utiliser : { $command }
data-download = Téléchargement de { $url }…
train-shard-alone = shard est sans effet avec un seul processus ; torchrun en lance plusieurs.
selftest-begins = Essai de { $count } parties du programme sur { $device } :
selftest-pass = ok
selftest-fail = ÉCHEC
selftest-ends = { $failed ->
    [0] Toutes les parties fonctionnent.
    [one] { $failed } partie sur { $count } a échoué.
   *[other] { $failed } parties sur { $count } ont échoué.
}
selftest-precision = perte { $loss } en { $dtype }, { $other } en float32
selftest-compile = perte { $loss } compilé, { $other } sans compilation
selftest-memory = une évaluation de { $sequences } séquences demande { $evaluation } Mo, un pas d’entraînement { $step } Mo
selftest-clock = { $steps } itérations totalisent { $counted } s, la boucle a duré { $loop } s
selftest-checkpoint = { $differing } tenseurs diffèrent de leur état au moment du checkpoint ; plus longue attente { $stall } s
selftest-resume = { $differing } pertes ou tenseurs diffèrent de l’exécution sans interruption, sur { $steps } pertes et { $tensors } tenseurs
selftest-sample = { $tokens } tokens, identiques les deux fois
selftest-muon = valeurs singulières d’une mise à jour de { $least } à { $most } en { $dtype }
selftest-processes = deux processus avec { $backend } : écart des pertes avec un seul processus { $worst }
selftest-shard = deux processus et des shards avec { $backend } : écart des pertes avec un seul processus { $worst }
export-done = { $path } : { $size } Mo, avant l’itération { $iteration }
error-train-no-slices = aucun checkpoint en shards ici
    .hint = train --shard=True en écrit un sous la forme d’un dossier de ce nom ; ckpt.pt n’a pas besoin d’être exporté
error-train-no-torch = l’entraînement nécessite PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } attend une valeur de type { $wanted }
    .hint = par exemple : --{ $setting }=… avec un { $wanted }, comme dans nanoGPT
error-train-choice = valeur incorrecte pour { $setting }
    .hint = au choix : { $known }
error-train-range = { $setting } est hors limites
    .hint = le minimum est { $least } ; dropout, beta1 et beta2 doivent être inférieurs à 1
error-train-heads = n_embd doit être un multiple de n_head
    .hint = par exemple : --n_embd=384 --n_head=6
error-train-odd-head = les positions rotatives exigent des têtes de largeur paire (n_embd / n_head)
    .hint = par exemple : --n_embd=384 --n_head=6, ou --recipe=nanogpt
error-train-gpt2-recipe = les poids de GPT-2 ne vont qu’au réseau de GPT-2
    .hint = --recipe=nanogpt
error-train-unknown-character = le corpus ne contient pas { $character }
    .hint = commencez par des caractères que le réseau a vus
error-train-not-saved = l’entraînement est terminé, mais son dernier checkpoint (itération { $iteration }) n’a pas été écrit : { $reason }
    .hint = { $saved ->
        [0] il n’y a aucun checkpoint : libérez de la place, puis relancez l’entraînement
       *[other] le checkpoint complet le plus récent est celui de l’itération { $saved } : libérez de la place, puis reprenez avec --init_from=resume
      }
error-train-bad-meta = meta.pkl n’est pas un fichier de nanoGPT : { $reason }
    .hint = recréez-le : stepscope data prepare FICHIER
error-train-no-data = aucun jeu de données de ce nom
    .hint = créez-le avec stepscope data prepare FICHIER --out data/{ $name }, ou indiquez un dossier avec train.bin et val.bin : --dataset=DOSSIER
error-train-short-data = { $tokens } tokens ne suffisent pas pour des séquences de { $block_size }, ou le fichier ne contient pas de tokens de 16 bits
    .hint = prenez plus de texte ou un --block_size plus petit
error-train-unreadable = illisible : { $reason }
    .hint = vérifiez le nom et les droits
error-train-vocabulary = le token { $token } n’entre pas dans un vocabulaire de { $vocab_size }
    .hint = les données ne sont pas celles de ce checkpoint ou de meta.pkl : indiquez le bon --dataset, ou repartez avec --init_from=scratch
error-train-no-tiktoken = le tokenizer BPE de GPT-2 nécessite tiktoken
    .hint = { $install }, ou --tokens char
error-train-tiktoken-download = tiktoken n’a pas pu télécharger les tables de GPT-2 ({ $reason })
    .hint = copiez-les depuis une machine qui les a et définissez TIKTOKEN_CACHE_DIR, ou --tokens char
error-train-no-stdlib = ce Python n’a pas les sources de sa bibliothèque standard
    .hint = préparez votre propre texte : stepscope data prepare FICHIER
error-train-no-safetensors = les poids de GPT-2 nécessitent safetensors
    .hint = { $install }
error-train-bad-gpt2 = ce n’est pas un dossier de poids de GPT-2 : { $reason }
    .hint = il doit contenir config.json et model.safetensors tels que publiés par Hugging Face
error-train-no-gpt2 = pas de poids de { $name } ici, et rien n’est téléchargé
    .hint = hf download openai-community/{ $name } --local-dir { $name }, puis --gpt2_folder={ $name }
error-train-no-checkpoint = aucun checkpoint d’où partir
    .hint = indiquez son dossier avec --out_dir, ou commencez avec --init_from=scratch
error-train-no-whole-checkpoint = aucun checkpoint complet : { $reason }
    .hint = commencez avec --init_from=scratch, ou copiez-y un fichier complet
error-train-bad-checkpoint = le checkpoint ne convient pas : { $reason }
    .hint = il doit venir de ce programme ou du train.py de nanoGPT
error-train-block-size = le réseau chargé lit au plus { $block_size } tokens
    .hint = --block_size={ $block_size } ou moins
error-train-accumulation = { $processes } processus ne peuvent pas se partager à parts égales ce nombre de micro-batches
    .hint = choisissez pour gradient_accumulation_steps un multiple de { $processes }
error-train-memory = mémoire saturée
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } entraîne sur les mêmes tokens avec moins de mémoire ; ou réduisez block_size, n_layer ou n_embd
error-train-rank-lost = un autre processus de l’entraînement a disparu : { $reason }
    .hint = regardez sa sortie, puis relancez-les tous avec --init_from=resume
error-selftest-alone = --selftest n’accepte aucun réglage sauf --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile a échoué : { $reason }
    .hint = --compile=False permet d’entraîner sans compilation
error-train-nan = la perte vaut { $value } à l’itération { $iteration } : entraînement arrêté
    .hint = essayez un learning_rate plus bas ou un warmup_iters plus long ; ckpt.pt, s’il existe, date d’avant et reste utilisable : --init_from=resume
error-sample-no-meta = les caractères de ce réseau sont dans le fichier meta.pkl de son dossier de données, qui n’est pas ici
    .hint = lancez la commande là où l’entraînement a eu lieu : dans le dossier qui contient data/{ $name }
error-train-locked = un autre entraînement utilise ce dossier (processus { $process })
    .hint = donnez à chaque exécution son propre dossier : --out_dir=DOSSIER
error-train-misspelt = le réglage { $setting } n’existe pas
    .hint = vouliez-vous dire { $meant } ?
error-train-out-dir = impossible d’y écrire : { $reason }
    .hint = choisissez un autre dossier
error-train-device = ce périphérique n’existe pas
    .hint = --device=cpu, cuda, cuda:1 ou mps
error-train-no-device = PyTorch ne trouve pas de périphérique { $name } ici
    .hint = --device=cpu --compile=False
error-train-config-expression = la valeur de { $setting } ne peut être connue qu’en exécutant le fichier ; les fichiers de configuration sont lus, pas exécutés
    .hint = écrivez la valeur elle-même, ou retirez la ligne et donnez-la en option : --{ $setting }=…
error-data-too-many-characters = { $count } caractères différents, c’est trop pour des tokens de 16 bits
    .hint = --tokens gpt2
error-data-empty = le fichier ne contient aucun texte
    .hint = indiquez un fichier avec du texte ; un fichier .jsonl a un document par ligne sous "text"
error-data-not-text = ce n’est pas un texte en UTF-8
    .hint = convertissez-le d’abord, par exemple avec iconv
error-data-bad-record = ce n’est pas un enregistrement JSON avec "text"
    .hint = un document par ligne, avec la clé text
error-data-no-download = le téléchargement a échoué : { $reason }
    .hint = récupérez le fichier autrement et indiquez-le : stepscope data prepare shakespeare input.txt
error-data-openwebtext = OpenWebText pèse 54 Go et n’est pas téléchargé ici
    .hint = exportez-le en .jsonl avec un "text" par ligne et indiquez les fichiers : stepscope data prepare openwebtext part-*.jsonl

## En direct

live-now = maintenant
live-left = fin
live-steps = itérations
live-time = temps
live-loss = perte
live-waiting = en attente des premières lignes ({ $duration })
live-warmup = démarrage (compilation, { $duration }) ; la prévision suivra
live-training = entraînement en cours, dernière ligne il y a { $duration }
live-evaluation = évaluation en cours depuis { $duration }
live-checkpoint = enregistrement en cours depuis { $duration }
live-stalled = aucune sortie depuis { $duration } : bloqué ?
live-closing = toutes les itérations sont faites ; le processus tourne encore
live-finished = terminé
live-ended = arrêté
live-usual = (d’habitude { $duration })
alarm-stall = Aucune sortie depuis { $duration } (d’habitude { $usual }, limite { $limit }). Examinez le processus : stepscope attach PID
run-kept = Enregistré dans { $folder }. Rapport complet : stepscope { $folder }
run-kept-partly = Enregistré dans { $folder }, sauf { $count ->
    [one] un octet
   *[other] { $count } octets
  } de sortie que le disque n’a pas acceptés. Rapport complet : stepscope { $folder }
alarm-disk = Le log ne peut plus être écrit dans { $folder } : { $reason }. La commande continue et sa sortie s’affiche ici jusqu’à la fin.
alarm-recording-gone = { $folder } a été supprimé : l’enregistrement est perdu. La commande continue et sa sortie s’affiche ici jusqu’à la fin.
error-run-not-started = la commande n’a pas pu être lancée
    .hint = le log à côté en donne la raison
error-run-no-code = la commande est terminée, mais son code de sortie est inconnu : les processus qui la surveillaient ont été tués
    .hint = le log finit par sa dernière sortie : stepscope { $place }
error-run-what = il manque la commande à lancer
    .hint = par exemple : stepscope run -- python train.py
error-needs-posix = cela ne marche que sous Linux et macOS
    .hint = stepscope watch train.log     suit un log sur n’importe quel système
error-needs-extra = cela nécessite l’extra { $extra }
    .hint = { $install }
error-bad-address = ce n’est pas une adresse valide pour les notifications
    .hint = par exemple : --notify mailto://user:pass@example.org
error-bad-interval = --interval attend des secondes, de 0.05 à 3600
    .hint = par exemple : --interval 2
error-watch-one-log = un seul log à la fois
    .hint = suivez la partie la plus récente de l’exécution
live-place = dans { $place }
attach-log = son log : { $path }
attach-no-stack = La pile n’est pas accessible ({ $reason }). Lancez la commande sous le même utilisateur, ou autorisez l’accès : sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = ce processus n’existe pas
    .hint = pgrep -af python     montre ceux qui tournent
error-process-not-ours = ce processus appartient à un autre utilisateur
    .hint = lancez la commande sous cet utilisateur : sudo -u UTILISATEUR stepscope attach { $place }
error-process-without-log = ce processus écrit dans un terminal ou un pipe, pas dans un fichier
    .hint = indiquez son log : stepscope attach { $pid } --log train.log ; ou lancez-le avec : stepscope run -- COMMANDE
error-bad-speed = --speed attend un nombre supérieur à 0
    .hint = par exemple : --speed 50
error-replay-file = seul un fichier peut être rejoué
    .hint = enregistrez-le d’abord : cat > train.log
## Causes

cause-accumulation = accumulation
cause-announced = travail annoncé
cause-async-checkpoint = checkpoint asynchrone
cause-attention = kernels lents
cause-denormals = nombres dénormalisés
cause-heat = chaleur
cause-interruption = interruption
cause-leak = coût croissant
cause-length = batch plus long
cause-logging = écriture du log
cause-memory = mémoire pleine
cause-neighbour = autre programme
cause-optimizer = travail périodique de l’optimiseur
cause-power = limite de puissance
cause-profiler = profileur
cause-recompile = recompilation
cause-schedule = évolution planifiée
cause-straggler = rank lent
cause-c01-evidence = elle comprend une évaluation de { $duration }
cause-c01-rest = la ligne de l’évaluation indique { $duration } ; ici, chaque évaluation prend { $rest } de plus
cause-c01-beside = elle est à côté de la ligne d’une évaluation, comme la plupart des évaluations de ce log : { $duration } de plus
cause-c01-period = elle revient à l’intervalle des évaluations, toutes les { $every } itérations ({ $count } fois), sans qu’une ligne l’indique
cause-c02-evidence = elle comprend un checkpoint de { $duration }
cause-c02-period = elle revient à l’intervalle des checkpoints, toutes les { $every } itérations ({ $count } fois), sans qu’une ligne l’indique
cause-c03-evidence = elle suit immédiatement un checkpoint, et { $share } des { $count } checkpoints sont suivis d’itérations lentes
cause-c04-evidence = parmi les premières itérations du processus : { $duration } de compilation et de première utilisation du GPU
cause-c05-evidence = la première évaluation a pris { $own }, les { $count } suivantes { $others }
cause-c05-level = le changement commence juste après la première évaluation, avant l’itération { $step }
cause-c06-partial = la dernière itération d’une époque de { $count } : un batch partiel a une autre forme
cause-c06-fading = l’une des { $count } itérations lentes de plus en plus rares, { $share } dans le premier quart : les formes nouvelles apparaissent de moins en moins
cause-c06-level = le changement commence par une seule itération très lente, { $step } ({ $duration } de plus)
cause-c08-printed = une ligne indique que le ramasse-miettes a tourné pendant { $duration }
cause-c08-evidence = { $count } itérations sont ralenties d’à peu près la même durée, { $duration } (± { $share }), sans intervalle fixe, ce qui est typique du ramasse-miettes de Python
cause-c09-twins = des itérations lentes reviennent toutes les { $first } et toutes les { $second } itérations, deux rythmes entrelacés : les ranks atteignent la fin d’un shard de données à une itération d’écart
cause-c09-tokens = toutes les { $every } itérations : un shard de { $shard } tokens à { $tokens } par itération
cause-c09-evidence = toutes les { $every } itérations, ce qui n’est pas un nombre entier, { $count } fois : typique de la fin d’un shard de données
cause-c09-whole = toutes les { $every } itérations : peut-être la fin d’un shard de données
cause-c10-evidence = exactement toutes les { $every } itérations, toujours environ { $duration } de plus : un travail planifié de l’optimiseur
cause-c11-workers = l’écart entre les itérations lentes est égal au nombre de processus de chargement, { $count }
cause-c11-evidence = toutes les { $every } itérations, de durées variables (± { $share }) : typique d’autant de processus de chargement qui ne suivent pas
cause-c12-evidence = la première itération d’une époque de { $steps } ; { $share } des { $count } époques commencent lentement
cause-c12-period = à chaque changement d’époque, toutes les { $steps } itérations ({ $count } fois) : les processus de chargement redémarrent
cause-c13-evidence = les itérations sont devenues { $share } plus rapides au début de l’exécution (à { $done }) et le sont restées, ce qui est typique de données mises en cache après la première lecture
cause-c14-evidence = un fichier a été demandé pendant ce temps et a mis { $own } à répondre ; les { $count } autres mettent { $usual }
cause-c16-more = { $count } nouvelles tentatives d’allocation dans sa fenêtre, { $usual } d’habitude
cause-c16-usual = { $count } nouvelles tentatives d’allocation dans sa fenêtre, mais aussi { $usual } dans les autres : elles ralentissent toutes les fenêtres, pas seulement celle-ci
cause-c17-full = ralentissement de { $change }, soudain et durable, avec { $share } de la mémoire du GPU utilisée : des pages passent peut-être dans la mémoire de l’hôte
cause-c17-evidence = ralentissement de { $change }, soudain et durable : sous Windows ou WSL, c’est l’effet d’une mémoire GPU pleine
cause-c18-evidence = ralentissement de { $change }, progressif puis stable : typique d’un GPU qui atteint sa température de fonctionnement
cause-c18-follows = ralentissement de { $change }, et les évaluations d’autant : tout le calcul a ralenti
cause-c19-pinned = le GPU consomme { $share } de sa limite de puissance
cause-c19-evidence = ralentissement stable de { $change } : compatible avec une limite de puissance ou de fréquence
cause-c20-window = ralentissement de { $change } aux bords nets, puis retour au niveau d’avant : un autre job a probablement partagé la machine pendant un temps
cause-c20-back = durée réduite de { $share }, retour à un niveau antérieur : un autre programme sur la machine s’est probablement terminé
cause-c20-evidence = ralentissement soudain de { $change } : un autre programme a peut-être démarré sur le GPU ou sur l’hôte
cause-c20-burst = l’une des { $count } itérations lentes de durées variables sur { $steps } lignes : la machine est peut-être partagée
cause-c21-evidence = le rank le plus lent a mis { $slowest }, le plus rapide { $fastest } : les autres l’ont attendu
cause-c22-evidence = une seule pause de { $duration } parmi des itérations de { $level } : suspendu, bloqué ou figé
cause-c24-evidence = toutes les { $every } itérations, un multiple de l’intervalle d’affichage ({ $interval }), dans une exécution aux itérations courtes
cause-c25-memory = { $count } micro-pas de { $batch } séquences par itération, avec { $share } de la mémoire du GPU utilisée : un batch plus grand avec moins de micro-pas tiendrait
cause-c25-small = { $count } micro-pas de { $batch } séquences par itération pour un modèle de { $parameters } paramètres sur un GPU : était-ce prévu pour huit ?
cause-c26-attention = l’en-tête avertit d’une attention lente : chaque itération la calcule sans kernel fusionné
cause-c26-dtype = l’exécution calcule en flottants de 32 bits : les tensor cores du GPU restent inutilisés
cause-c27-evidence = elle avait { $factor } fois le travail habituel, et le temps suit le travail dans cette exécution (corrélation { $tied })
cause-c27-level = le travail par itération a été multiplié par { $factor } en même temps
cause-c28-evidence = la première itération après la reprise à { $step } : le chargement, la compilation et le saut des données déjà vues ont pris { $duration }
cause-c29-evidence = une hausse régulière de { $change } sur toute l’exécution, qui ne se stabilise pas, typique de quelque chose qui grossit à chaque itération
cause-c30-evidence = une hausse sur le CPU : des nombres proches de zéro sont peut-être devenus dénormalisés
cause-c32-evidence = une ligne qui la précède signale une trace de profileur
cause-c33-evidence = la première itération après une évaluation ; { $share } des { $count } évaluations en ont une semblable
cause-c33-period = l’itération qui suit une évaluation est lente { $count } fois, alors que l’horloge de ce log exclut les évaluations
cause-c34-evidence = une évolution de { $change } sur l’exécution, presque sans bruit (± { $noise }) : plus probablement planifiée que subie
cause-c35-evidence = d’après le log, elle a attendu ses données pendant { $duration }
cause-c35-figure = elle a attendu ses données { $own } par itération, contre { $usual } d’habitude
cause-c35-level = l’attente des données a changé en même temps, de { $before } à { $after } par itération : { $share } du changement
cause-c36-evidence = elle suit une ligne qui précède { $count } itérations, dont { $hits } lentes
cause-c36-evaluation = les évaluations précédées d’une telle ligne prennent { $own }, les autres { $others } ({ $count } d’entre elles)
level-slower = Depuis l’itération { $step }, les itérations durent { $share } de plus ({ $duration }).
level-faster = Depuis l’itération { $step }, les itérations durent { $share } de moins ({ $duration }).
level-candidate = Explication la plus probable : { $cause } ({ $code }, confiance { $confidence }). Indice : { $evidence }.
level-others = Aussi possible : { $others }.
level-none = Rien dans le log ne l’explique.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Toutes les { $every } itérations, l’une d’elles dure { $duration } de plus ({ $count } fois jusqu’ici) : { $cause } ({ $code }).
slow-rhythm-maybe = Toutes les { $every } itérations, l’une d’elles dure { $duration } de plus ({ $count } fois jusqu’ici) ; rien ne l’explique avec certitude. Le plus probable : { $candidate }.
slow-rhythm-unknown = Toutes les { $every } itérations, l’une d’elles dure { $duration } de plus ({ $count } fois jusqu’ici) ; rien ne l’explique.
finding-line = Toute l’exécution : { $evidence } ({ $code }).
settle-stamps = Des horodatages sur les lignes permettraient de distinguer une pause de la machine d’une itération lente : { $command }
settle-data = Le temps d’attente de chaque batch, affiché à chaque itération, montrerait si les données étaient en retard.
settle-gpu = Un relevé nvidia-smi pris à ce moment-là (et passé ici avec --nvidia-smi FICHIER) montrerait la température, la puissance, la mémoire et les autres programmes.
settle-gc = Un appel à gc.disable() après la première itération montrerait si c’est le ramasse-miettes : les itérations lentes disparaîtraient.
settle-ranks = Le même log sur chaque rank montrerait lequel les autres ont attendu.
settle-events = { $count } itérations lentes ont la même durée, mais leur intervalle ne peut pas encore être déterminé : il en faudrait environ { $enough }.
why-title = Itération { $step }
why-took = Elle a pris { $duration } ; à cet endroit, une itération normale dure { $level }.
why-window = Sa ligne couvre { $count } itérations : { $duration } en tout, { $mean } chacune ; à cet endroit, une itération normale dure { $level }.
why-normal = C’est normal : 90 % durent { $span }.
why-raised = C’est plus que ses voisines, mais pas assez pour la considérer comme lente.
why-made-of = Elle se compose de : { $parts }.
why-cause = Cause : { $cause } ({ $code }, confiance { $confidence }). Indice : { $evidence }.
why-unexplained = Inexpliqué : aucun indice de ce log n’est assez solide pour expliquer ce temps supplémentaire ({ $duration }).
why-lines = Indices dans le log :
why-considered = Autres causes envisagées :
why-candidate = { $code } { $cause }, { $confidence } : { $evidence }
why-turned-down = Causes écartées :
why-not-marker = aucune ligne juste avant ne signale d’évaluation, de checkpoint, de passage du ramasse-miettes ou d’attente
why-not-first = elle ne fait pas partie des premières itérations de son processus
why-not-period = elle ne revient pas à intervalle fixe
why-not-epoch = elle n’est ni au début ni à la fin d’une époque
why-not-data = l’attente de données affichée y est normale
why-not-work = elle n’avait pas plus de travail que les autres
why-not-save = il n’y a pas de checkpoint peu avant elle
why-not-pause = elle est trop courte pour une machine suspendue
why-periodic = Elle revient toutes les { $every } itérations, { $count } fois dans ce log.
why-neighbours = Autour d’elle : { $items }.
why-neighbour = { $step } : { $duration }
why-settle = Pour le savoir :
why-unprinted = L’itération { $step } n’a pas sa propre ligne. Les plus proches :
why-unprinted-normal = Les itérations sans ligne sont supposées normales : { $level } chacune.
why-inside = L’itération { $step } fait partie de celles que couvre la ligne de l’itération { $line_step }.
why-no-time = La ligne de l’itération { $step } ne donne pas de temps.
why-page = Plus de détails : stepscope doc { $code }
error-no-such-step = le log ne contient pas d’itération { $step }
    .hint = il va de { $first } à { $last }
error-bad-step = un numéro d’itération doit être un nombre entier
    .hint = par exemple : stepscope why train.log 500
alarm-files-order = { $by ->
    [stamps] Les fichiers ont été lus dans l’ordre de leurs horodatages : { $paths }
   *[other] Les fichiers ont été lus dans l’ordre de leurs itérations : { $paths }
  }
alarm-files-repeated = { $count ->
    [one] Ce fichier contient les mêmes lignes qu’un autre et a été laissé de côté : { $paths }
   *[other] Ces fichiers contiennent les mêmes lignes que d’autres et ont été laissés de côté : { $paths }
  }
## Logs de format inconnu

section-inferred = Comment ce log a été lu
inferred-intro = Aucun format connu ne correspond à ce log ; il a été lu d’après sa structure (confiance { $confidence }) :
inferred-item = { $text } (confiance { $confidence })
inferred-teach = Pour corriger : stepscope formats try { $path } --suggest > my.toml, modifiez my.toml et ajoutez --format-file my.toml
infer-step = « { $text } » est interprété comme l’itération : un nombre entier qui croît de ligne en ligne.
infer-step-epoch = « { $epoch } » est interprété comme l’époque et « { $batch } » comme l’itération dans l’époque : elle repart du début à chaque époque.
infer-step-is-epoch = « { $text } » est interprété comme l’itération : elle compte les époques.
infer-step-word = « { $text } » est interprété comme l’itération.
infer-time-mean = « { $text } » est interprété comme une moyenne depuis la première itération, en { $unit } : elle baisse de ligne en ligne alors que sa somme croît, et les itérations en sont déduites.
infer-time-none = Aucun nombre de ces lignes n’a pu être identifié comme une durée.
infer-time-stamps = Les durées sont les écarts entre les horodatages des lignes.
infer-time-of-all = Seule la durée totale, { $total }, est affichée : chaque itération en reçoit la moyenne, avec tout ce qui s’est passé entre elles.
infer-time-step = « { $text } » est interprété comme le temps d’une itération, en { $unit }.
infer-time-total = « { $text } » est interprété comme le temps de toutes les itérations depuis la ligne précédente, en { $unit }.
infer-time-clock = « { $text } » est interprété comme une horloge qui avance de ligne en ligne, en { $unit }.
infer-time-rate = « { $text } » est interprété comme un nombre d’itérations par seconde.
infer-time-work = « { $text } » est interprété comme le travail par seconde et « { $amount } » comme le travail par itération.
infer-because-stamps = Cela concorde avec les horodatages.
infer-because-clock = Cela concorde avec l’horloge de la même ligne.
infer-because-rate = Cela concorde avec le débit de la même ligne.
infer-because-left = Cela concorde avec le temps restant que la ligne affiche.
infer-because-total = La somme correspond à la durée totale indiquée à la fin du log.
infer-because-growth = La valeur augmente d’autant à chaque itération, comme une horloge.
infer-because-spacing = Les lignes qui couvrent plus ou moins d’itérations que les autres le confirment.
infer-because-meter = Sa moyenne suit entre parenthèses, comme avec un compteur mis à jour à chaque itération.
infer-because-amounts = Avec une unité plus courte, les autres compteurs de la ligne croîtraient plus vite que ne le permet aucune machine.
infer-because-unit = Son unité est affichée ; rien d’autre dans le log ne le confirme.
infer-because-name = Son nom le suggère ; rien dans le log ne confirme qu’il compte des secondes.
infer-because-size = Il n’a pas d’unité ; pour un nombre de cette taille, la seconde est l’unité la plus probable.
infer-total = « { $text } » est interprété comme le nombre d’itérations.
infer-batches = « { $text } » est interprété comme le nombre d’itérations par époque.
infer-evaluation = Les lignes comme « { $text } » sont interprétées comme des évaluations.
infer-checkpoint = Les lignes comme « { $text } » sont interprétées comme des checkpoints.
infer-step-counted = Les lignes comme « { $text } » n’ont pas de numéro : chacune compte comme une itération.
infer-step-bar = La barre « { $text } » est interprétée comme celle de l’entraînement : ses lignes sont les itérations.
infer-time-bar = Les durées sont celles de l’horloge de la barre, en secondes entières ; le débit affiché est lissé et n’est pas utilisé.
infer-bars-are-epochs = La barre part du début { $count } fois ; chaque passage est interprété comme une époque.
infer-step-batch = « { $text } » est interprété comme le batch d’une époque ; le compte repart du début { $count } fois, chaque fois pour une nouvelle époque.
infer-doubt-interval = « { $text } » peut être le temps d’une itération ou celui des { $count } depuis la ligne précédente ({ $each } chacune). Rien dans le log ne permet de trancher ; aucun temps n’a donc été lu.
infer-doubt-unit = « { $text } » n’a pas d’unité et peut être le temps d’une itération ou de plusieurs ({ $count } depuis la ligne précédente). Rien dans le log ne permet de trancher ; aucun temps n’a donc été lu.

## Comparer des exécutions

compare-slower = La seconde exécution prend { $share } de temps en plus : { $before } → { $after } { $unit }.
compare-faster = La seconde exécution prend { $share } de temps en moins : { $before } → { $after } { $unit }.
compare-same = Les deux exécutions prennent le même temps : { $before } { $unit }.
compare-span = { $low } à { $high }
compare-most = La phase « { $phase } » représente { $share } de la différence.
compare-most-offset = L’essentiel de la différence vient de la phase « { $phase } » ; d’autres phases en compensent une partie.
compare-real = Écart de durée d’une itération normale : de { $low } à { $high } (confiance { $confidence }), plus que du bruit.
compare-noise = Écart de durée d’une itération normale : de { $low } à { $high } (confiance { $confidence }), peut-être du bruit.
compare-even-real = Écart de durée d’une itération normale : { $change }, plus que du bruit.
compare-even-noise = Écart de durée d’une itération normale : { $change }, peut-être du bruit.
compare-too-few = Trop peu d’itérations normales pour distinguer un écart du bruit.
compare-unit-steps = pour 1 000 itérations
compare-unit-tokens = par million de tokens
compare-settings-same = Les réglages sont les mêmes, d’après les logs.
compare-settings = Réglages différents : { $settings }
compare-no-times = { $path } : aucune itération chronométrée à comparer.
compare-no-tokens = Tous les logs n’indiquent pas leur nombre de tokens : comparaison par itération.
error-compare-needs-two = compare attend au moins deux logs
    .hint = par exemple : stepscope compare old.log new.log

## La page

page-strip-hint = Glissez pour zoomer, double-cliquez pour tout voir ; un clic fixe les valeurs, avec le lien vers la ligne du log. Une fois la chronologie sélectionnée : + et − ou la molette zooment, les flèches déplacent, N et P vont d’un arrêt à l’autre, Origine montre tout.
page-whatif = Et si…

## L’application web

web-all-runs = toutes les exécutions
web-compare = Comparer
web-no-runs = Aucun log d’entraînement sous ce dossier.
web-paste = Un autre log
web-paste-hint = Collez ici des lignes d’un log, ou déposez un fichier sur cette page. Il reste en mémoire et n’est pas enregistré.
web-explain = Expliquer
serve-hint = Appuyez sur Ctrl-C pour arrêter. Le lien contient votre token d’accès.
error-serve-needs-token = l’accès depuis d’autres machines nécessite un token personnel
    .hint = par exemple : openssl rand -hex 16 > token.txt, puis --host 0.0.0.0 --token-file token.txt
error-bad-token = ce n’est pas un token valide
    .hint = un mot fait de lettres et de chiffres, par exemple : openssl rand -hex 16 > token.txt
error-bad-allow-host = ce n’est ni un nom d’hôte ni une adresse valide
    .hint = par exemple : --allow-host logs.example.com ou --allow-host localhost:9000
error-bad-port = ce n’est pas un port valide
    .hint = par exemple : --port 8000
error-cannot-listen = impossible d’ouvrir un port à cette adresse : { $reason }
    .hint = prenez un autre port, ou aucun pour un port libre
alarm-unexplained = Entre les itérations { $before } et { $step }, temps écoulé sans explication dans le log : { $duration }.
clocks-differ = Les horodatages couvrent { $stamps }, les temps affichés { $printed } : il manque { $rest } à ces derniers.
## Formats que l’on enseigne

formats-words = Une ligne est examinée si elle contient l’un de ces mots : { $words }.
formats-try-gave-up = abandon à la ligne { $line }, colonne { $column } :
formats-try-others = { $count ->
    [one] Un autre format ne reconnaît aucune ligne.
   *[other] { $count } autres formats ne reconnaissent aucune ligne.
  }
formats-try-account = { $name } : { $share } des indices, { $steps } itérations, { $seconds }, { $unread } lignes restantes
formats-try-behind = { $steps ->
    [one] { $name } : { $share } des indices, une ligne d’itération ; essai arrêté là
   *[other] { $name } : { $share } des indices, { $steps } lignes d’itérations ; essai arrêté là
  }
formats-try-read-as = Lu comme { $name } : { $steps } itérations.
suggest-what = Un fichier de format pour Stepscope, établi d’après la structure de { $path }.
suggest-where = Enregistrez-le dans { $folder }, ou indiquez-le : stepscope { $path } --format-file FICHIER
suggest-groups = Les groupes nommés sont des valeurs : step ou epoch et batch, total, loss ; un temps est dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers vaut step, window (une moyenne), cumulative ou stamp ; figure_is_total = true quand le temps est celui de toutes les itérations depuis la ligne précédente.
suggest-none = Rien dans ce fichier ne compte d’itérations : ce qui suit est un modèle à remplir.
error-suggest-needs-file = --suggest s’utilise avec try et un fichier
    .hint = stepscope formats try run.log --suggest > mine.toml
error-no-such-format-file = le fichier de format ne peut pas être lu : { $reason }
    .hint = stepscope formats try run.log --suggest > mine.toml     en écrit un
error-format-file-too-large = trop gros pour un fichier de format
    .hint = est-ce le log ? Alors enlevez --format-file
error-format-file-not-text = le fichier de format n’est pas du texte UTF-8
    .hint = enregistrez-le en UTF-8
error-format-file-syntax = le fichier de format n’est pas du TOML : { $reason }
    .hint = un motif se met entre guillemets simples : pattern = '…'
error-format-key-missing = la clé { $field } manque
    .hint = stepscope formats try run.log --suggest     écrit un fichier avec tout ce qu’il faut
error-format-key-unknown = clé inconnue : { $field }
    .hint = au choix : { $known }
error-format-key-type = la valeur de { $field } n’est pas du bon type
    .hint = attendu : { $wanted }
error-format-bad-value = { $field } n’accepte pas la valeur { $value }
    .hint = au choix : { $known }
error-format-bad-pattern = le motif n’est pas une expression régulière valide : { $reason }
    .hint = un caractère spécial littéral doit être précédé d’une barre oblique inverse : \[ \( \. \|
error-format-slow-pattern = le motif peut reconnaître certaines lignes de trop de façons et risque de ne jamais finir
    .hint = limitez l’une des répétitions, par exemple { $example } au lieu de + ou *, ou séparez-les : \S+ \S+ plutôt que .+ .+
error-format-unknown-group = valeur inconnue : { $group }
    .hint = au choix : { $known }
error-format-sample-missed = le motif échoue à la colonne { $column } de son exemple : { $text }
    .hint = changez le motif, ou l’exemple
error-format-no-step = aucune ligne n’est du type step
    .hint = il faut un bloc [[lines]] avec kind = 'step' et un motif contenant (?P<step>\d+)
error-broken-plugin = le format { $name } d’un autre paquet ne peut pas être chargé : { $reason }
    .hint = réparez ou retirez ce paquet

## Vu de l’intérieur

inside-line = Mesuré dans le processus : { $items }.
inside-evaluation = { $count } × évaluation { $duration }
inside-checkpoint = { $count } × checkpoint { $duration }
inside-data = { $count } × attente des données { $duration } (la plus longue { $longest })
inside-gc = { $count } × ramasse-miettes { $duration } (le plus long { $longest })
inside-compile = { $count } × compilation { $duration }
inside-optimizer = { $count } × pas de l’optimiseur { $duration }
inside-retry = { $count } × allocation mémoire retentée
inside-step = { $count } × itération { $duration } (la plus longue { $longest })
inside-fetch = { $count } × chargement d’un batch { $duration } (le plus long { $longest })
inside-logging = { $count } × écriture du log { $duration }
inside-other = { $count } × { $kind } { $duration } (le plus long { $longest })
## Prévision

assume-like = { $count ->
    [one] La suite est calquée sur une exécution précédente du même programme, { $path }, au rythme de celle-ci.
   *[other] La suite est calquée sur { $count } exécutions précédentes du même programme, comme { $path }, au rythme de celle-ci.
}
assume-passes = Le ralentissement actuel est récent : on suppose qu’il durera encore à peu près autant.
finish-ask = Revenez voir après l’itération { $step }, dans environ { $duration }.
finish-ask-step = Revenez voir après l’itération { $step }.
deadline-chance = Échéance : { $time }. Probabilité de finir à temps : { $share }.
deadline-sure = Échéance : { $time }. Fin à temps presque certaine.
deadline-hardly = Échéance : { $time }. Fin à temps très improbable.
error-bad-deadline = ce n’est pas une heure valide : { $text }
    .hint = par exemple : --deadline 08:00, --deadline 2025-11-15T08:00 ou des secondes Unix
error-like-format = le log vient d’un autre programme : { $its }, pas { $own }
    .hint = --like attend un log complet du même programme
error-like-short = cette exécution s’arrête à l’itération { $last }, avant les { $total } de celle-ci
    .hint = --like attend un log complet du même programme

advice-a106-costs = Les mêmes séquences en { $batches } batches de { $size }. Il faut modifier l’évaluation.
advice-a106-evidence = Une évaluation porte sur { $batches } batches de { $size }, et le GPU a assez de mémoire pour de plus grands.
advice-a110-costs = De la place sur le disque pour le cache.
advice-a110-evidence = L’exécution a démarré { $count } fois ; le préchauffage a pris { $duration } en tout.
advice-a115-costs = La perte n’est affichée que toutes les { $count } itérations.
advice-a115-evidence = Chaque itération de { $duration } attend que sa perte soit récupérée et affichée.
advice-a116-costs = Un PyTorch plus récent ; les résultats ne diffèrent que par les arrondis.
advice-a116-evidence = Le programme indique au démarrage que l’attention n’est pas fusionnée.

## La page, l’application et les autres outils

error-binary-to-terminal = un fichier { $name } ne peut pas s’afficher dans un terminal
    .hint = écrivez-le dans un fichier : -o rapport.{ $name }
## Conseils : précision, hypothèses, checkpoints et disque

precision-same = L’erreur type de la perte de validation reste à { $error }.
precision-same-seen = L’erreur type de la perte de validation reste à { $error } ; entre deux évaluations la perte baisse d’environ { $gain }, la tendance reste donc nette.
precision-same-unseen = L’erreur type de la perte de validation reste à { $error } ; entre deux évaluations la perte baisse d’environ { $gain }, trop peu pour qu’une seule évaluation le montre.
advise-rounding = Même entraînement, aux arrondis près.
advise-draws = Même entraînement, au tirage aléatoire des batches près.
advise-assumed = Supposé, d’après des cas publiés : { $cases }
change-frees = { $change } : libère { $size } Go de disque
change-together = Tous ensemble, ils font gagner environ { $duration } : { $after } au lieu de { $before }.
change-eval-interval = évaluer toutes les { $proposed } itérations au lieu de toutes les { $now }
change-checkpoint-interval = enregistrer toutes les { $proposed } itérations au lieu de toutes les { $now }
change-log-interval = afficher toutes les { $proposed } itérations au lieu de toutes les { $now }
change-eval-iters = { $proposed } batches par évaluation au lieu de { $now }
change-none-few = Rien ne mérite d’être changé : les évaluations et les checkpoints prennent { $share } du temps, mais il y en a déjà trop peu pour en supprimer.
change-none-seen = Rien ne mérite d’être changé : le log ne montre ni évaluation ni autre coût évitable.
change-no-steps = Pas de conseil : aucun temps d’itération n’a pu être lu.
advice-a101-costs-seen = Les évaluations ont lieu { $factor } fois moins souvent.
advice-a102-costs-flat = L’erreur type de la perte de validation passe de { $before } à { $after }. La perte ne baisse plus entre deux évaluations : davantage de batches ne feraient pas non plus apparaître de progrès.
advice-a104-change = n’enregistrer que si la perte de validation s’améliore
advice-a105-change = les mêmes batches d’évaluation à chaque fois, { $proposed } au lieu de { $now }
advice-a105-precision = L’erreur d’une différence entre deux évaluations passe de { $before } à { $after } ou moins.
advice-a106-costs-plain = Les mêmes séquences en batches de { $size }. Si la mémoire ne suffit pas, revenez en arrière.
advice-a106-evidence-plain = Les évaluations se font par batches de { $size }, et le GPU a assez de mémoire pour de plus grands.
advice-a106-change = batches d’évaluation de { $proposed } au lieu de { $now }
advice-a106-assumed = des batches 2 à 10 fois plus grands ont pris 0,84 à 1,12 fois le temps sur un CPU ; un GPU qui attend entre les kernels gagne jusqu’à un tiers.
advice-a107-change = évaluer sur les { $count } ranks au lieu d’un seul
advice-a107-assumed = sur quatre GPU, une itération avec évaluation est passée de 20,5 à 8,7 s (issue 673 de nanoGPT).
advice-a108-costs-shorter = Plus de checkpoints ; en échange, un plantage fait perdre au plus { $duration } de travail.
advice-a108-evidence-accepted = Un checkpoint arrête l’entraînement pendant { $duration }. Avec en moyenne { $between } entre deux plantages, la règle de Daly donne { $best } comme meilleur intervalle ; vous acceptez de perdre { $accepted }.
advice-a109-change = enregistrer les checkpoints de façon asynchrone
advice-a109-assumed = 27,3 s sont devenues 0,54 s pour un modèle de 8 milliards de paramètres sur huit H100 (issue 635 de NeMo Automodel) ; sur un CPU, il restait 16 % de l’attente.
advice-a110-change = garder le cache de compilation d’un démarrage à l’autre
advice-a110-assumed = avec un cache déjà rempli, la première itération de nanoGPT a pris 2,3 s au lieu de 26 s sur un CPU ; le chargement et la première utilisation restent.
advice-a111-change = déclencher le ramasse-miettes à la main, tous les quelques milliers d’itérations
advice-a112-change = { $count } processus de chargement persistants, avec préchargement
advice-a112-change-prefetch = lire le shard suivant à l’avance, dans un thread
advice-a112-assumed = une attente de 0,217 s par itération est devenue 0,003 s avec plus de processus ; si le disque ou le réseau est lent, rien ne change.
advice-a113-assumed = rien sur un GPU déjà occupé, jusqu’à un dixième sur un GPU qui attend entre les kernels ; stepscope plan le calcule pour un modèle donné.
advice-a114-assumed = une V100 multiplie des matrices à 9,9 TFLOPS en bfloat16, et à 100 ou plus en float16 (tables publiques).
advice-a115-assumed = la ligne de nanoGPT prend 0,3 ms sur un CPU, rien si la boucle attend de toute façon le GPU, et quelques millisecondes avec un client de métriques.
advice-a116-change = attention fusionnée
advice-a116-assumed = GPT-2 sur une A100 est passé de 130 à 96 ms par itération ; les contextes courts gagnent moins, les longs plus.
advice-a117-change = AdamW fusionné
advice-a117-costs = Aucune mémoire supplémentaire ; les sommes sont arrondies dans un autre ordre. Il faut PyTorch 2.0 sur CUDA, 2.4 sur un CPU.
advice-a117-evidence = Le programme indique au démarrage que son optimiseur n’est pas fusionné.
advice-a117-assumed = 3 % pour GPT-2 sur une A100 (de 93 à 90 ms), 0 à 8 % pour de petits modèles sur un CPU.
advice-a118-change = garder les { $count } derniers checkpoints
advice-a118-costs = Vous ne pouvez revenir qu’aux { $count } derniers ; copiez ailleurs ce que vous voulez garder.
advice-a118-evidence = { $count } checkpoints d’environ { $each } Go chacun, et ce programme les garde tous : { $total } Go à la fin.
advice-a122-change = arrêter à la meilleure perte de validation (itération { $step })
advice-a122-change-now = arrêter maintenant : la perte de validation était la meilleure à l’itération { $step }
advice-a122-costs = Vous gardez le checkpoint de la meilleure itération, pas le dernier ; enregistrez-en un chaque fois que la perte de validation s’améliore.
advice-a122-evidence = La perte de validation était la plus basse à l’itération { $step } ({ $loss }) ; les { $count } évaluations suivantes sont moins bonnes.
safety-now = Entre deux checkpoints (toutes les { $interval } itérations), un plantage peut faire perdre jusqu’à { $stake } de travail.
safety-within = C’est dans la limite que vous acceptez de perdre ({ $accepted }).
safety-beyond = Vous acceptez de perdre { $accepted } : enregistrez un checkpoint au moins toutes les { $needed } itérations.
safety-best = D’après la règle de Daly, avec { $stall } d’attente par checkpoint et les redémarrages constatés, le meilleur intervalle est d’un checkpoint toutes les { $best } itérations.
disk-one = Ce programme l’écrase à chaque fois.
disk-all = Ce programme les garde tous : { $count } à la fin, { $total } Go.
error-bad-may-lose = --may-lose attend une durée
    .hint = par exemple : --may-lose 10min, 90s ou 1h30m
error-change-twice = { $setting } est changé deux fois
    .hint = donnez-lui une seule valeur
error-unknown-change = réglage inconnu
    .hint = vouliez-vous dire { $known } ?

disk-each = Un checkpoint prend environ { $each } Go sur le disque.
disk-some = Ce programme garde les { $count } derniers : { $total } Go.

error-bad-change-switch = { $setting } vaut True ou False
    .hint = par exemple : --change { $setting }=False

whatif-past = L’exécution en est déjà à l’itération { $step }, au-delà de { $total } : elle serait terminée.

## Le GPU

card-size-unknown = { $duration }, est-ce normal pour une { $gpu } ? Pour un modèle de { $low } à { $high } M de paramètres, oui. Le log n’indique pas la taille du modèle ; ajoutez-la pour avoir un verdict : --set parameters=124M.
page-zoom-in = Agrandir
page-zoom-out = Réduire
page-zoom-left = Vers la gauche
page-zoom-right = Vers la droite
page-zoom-all = Tout voir
page-normal = itération normale
page-level = niveau des itérations normales
page-tip = Itération { $step } : { $took }
page-validation = perte de validation
page-fan = Itérations au fil du temps : jusqu’ici, prévision et prévisions antérieures
page-fan-past = jusqu’ici
page-fan-ahead = prévision
page-fan-earlier = prévisions antérieures
section-backtest = Prévisions antérieures, vérifiées après coup
backtest-column-at = après
backtest-column-said = prévision
backtest-column-range = fourchette
backtest-column-took = réel
backtest-column-off = écart
backtest-at = { $share }, itération { $step }
backtest-summary = { $count ->
    [one] La prévision du temps jusqu’à l’itération { $step }, recalculée avec le log tel qu’il était alors. Durées réelles dans la fourchette : { $held } sur 1.
   *[other] Prévisions du temps jusqu’à l’itération { $step }, recalculées avec le log tel qu’il était alors. Durées réelles dans la fourchette : { $held } sur { $count }.
  }
page-tokens-rate = tokens par seconde, évaluations et checkpoints compris
page-steps-rate = itérations par seconde, évaluations et checkpoints compris
page-gpu = GPU
page-gpu-load = utilisation
page-gpu-memory = mémoire
page-gpu-power = puissance
page-gpu-temperature = température
cards-line = { $gpu }, { $count } mesures : { $items }.
cards-load = utilisation moyenne { $share }
cards-memory = au plus { $used } sur { $total } Gio
cards-power = { $mean } W en moyenne, au plus { $most } W
cards-temperature = jusqu’à { $degrees } °C
page-whatif-left = temps restant : { $duration }{ $range }
page-whatif-done = fin : { $time }
page-whatif-less = { $duration } de moins que maintenant
page-whatif-more = { $duration } de plus que maintenant
page-whatif-evaluations = évaluations à venir : { $number }
## Les mesures du GPU
page-whatif-error = perte de validation ± { $error }
## Ce que dit le GPU pendant ce temps

gpu-power-of = { $power } sur { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } sur { $most } MHz
gpu-held = freiné par { $reasons }
gpu-others = { $count ->
    [one] un autre processus sur ce GPU : { $names }
   *[other] { $count } autres processus sur ce GPU : { $names }
  }
throttle-power_cap = sa limite de puissance
throttle-thermal = la chaleur
throttle-hw_slowdown = la protection du matériel
throttle-power_brake = l’alimentation
throttle-sync_boost = le GPU le plus lent de son groupe
live-gpu = GPU
alarm-near-oom = { $used } Gio de mémoire GPU sur { $total } sont occupés : l’exécution risque de manquer de mémoire. Un batch plus petit avec plus d’accumulation en demande moins.
alarm-slowdown-thermal = Depuis l’itération { $step }, les itérations durent { $share } de plus : { $before } avant, { $after } depuis. Le GPU baisse sa fréquence parce qu’il est trop chaud : vérifiez les ventilateurs, la poussière et l’aération.
alarm-slowdown-power = Depuis l’itération { $step }, les itérations durent { $share } de plus : { $before } avant, { $after } depuis. Le GPU est à sa limite de puissance : voyez nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Depuis l’itération { $step }, les itérations durent { $share } de plus : { $before } avant, { $after } depuis. Un autre processus utilise le GPU : nvidia-smi montre lequel.
alarm-slowdown-memory = Depuis l’itération { $step }, les itérations durent { $share } de plus : { $before } avant, { $after } depuis. La mémoire du GPU est pleine, et ce qui n’y tient pas passe peut-être dans la mémoire de l’hôte : un batch plus petit aide.
alarm-finished = L’exécution est terminée : itération { $step }.
notify-failed = { $count ->
    [one] Un message n’a pas pu être envoyé ; vérifiez l’adresse de --notify.
   *[other] { $count } messages n’ont pas pu être envoyés ; vérifiez l’adresse de --notify.
}
live-log = log
live-next = à venir
live-advice = conseil
live-next-evaluation = évaluation à l’itération { $step }, dans { $duration }
live-chart-steps = temps par itération
live-chart-loss = perte { $loss }
live-chart-losses = perte { $loss } · ● validation { $val }
live-gpu-load = charge du GPU
live-gpu-memory = mémoire du GPU

## Le plan, GPU par GPU

plan-title-asked = Réglages actuels
plan-title-proposed = Réglages recommandés
plan-now = actuel
plan-row-evaluations = évaluations
plan-row-saved = gain
plan-keeps = Les mêmes tokens par itération : le même entraînement, aux arrondis et au tirage aléatoire des batches près. Avec moins de batches d’évaluation, la perte de validation est moins précise. --write DOSSIER écrit un fichier de configuration par GPU.
plan-keeps-not = Les mêmes tokens par itération, mais float16 là où le GPU n’a pas de bfloat16, ce qui change légèrement l’entraînement. --write DOSSIER écrit un fichier de configuration par GPU.
plan-note-from = Calibré avec le log : { $duration } par itération sur { $gpu }.

plan-row-sequences = séquences par évaluation
plan-memory-other = autre, tel que mesuré
plan-model-derived = De { $low } à { $high } M de paramètres, estimés ; calculé avec { $parameters } : { $layers } couches × { $hidden }, contexte { $context }, vocabulaire { $vocabulary }

## Conseils : compiler, types, shards

change-scope-rest-one = Gains sur le reste de cette exécution.
change-scope-run-one = Gains sur une exécution comme celle-ci.
disk-each-span = Un checkpoint prend environ { $each } Go sur le disque ({ $low } à { $high }).
advice-a112-costs-prefetch = De la mémoire de l’hôte pour un shard de plus.
advice-a112-assumed-prefetch = modded-nanogpt lit le shard suivant dans un thread depuis son record 33 ; avant, chaque changement de shard coûtait 160 à 200 ms.
advice-a119-costs = La première itération prend environ { $duration } de plus. Essayez sur cent itérations : un petit modèle peut ne rien y gagner.
advice-a119-evidence = D’après les réglages, le modèle n’est pas compilé.
advice-a119-assumed = GPT-2 sur une A100 est passé de 250 à 135 ms par itération (README de nanoGPT) ; un petit modèle sur une RTX 3080, de 44 à 48.
advice-a120-change = des formes constantes : écarter le batch incomplet, ou le compléter
advice-a120-costs = Les séquences du batch incomplet ne servent pas à l’entraînement, ou le remplissage coûte du calcul.
advice-a120-evidence = { $count } itérations de { $duration } en tout ressemblent à des recompilations, { $share } du temps.
advice-a121-costs = Précision mixte : les poids restent en float32, les produits sont arrondis à 16 bits ; les pertes diffèrent légèrement.
advice-a121-evidence = { $gpu } multiplie les nombres de 16 bits bien plus vite que ceux de 32 bits, et cette exécution est en float32.
advice-a121-assumed = GPT-2 sur une A100 a pris 1 000 ms par itération en float32, 333 avec TF32, 300 avec bfloat16.
inside-skipped = Non instrumenté, car cette version ne le permet pas : { $names }.
split-trace = L’évaluation et le checkpoint ont été mesurés dans le processus.
compare-title = Exécutions côte à côte
compare-section-each = Coût à l’unité
compare-section-why = Ce qui explique la différence : { $first } → { $other }
compare-section-settings = Réglages qui diffèrent
compare-row-typical = itération normale
compare-row-evaluation-each = une évaluation
compare-row-checkpoint-each = un checkpoint
compare-row-warmup = préchauffage en tout
compare-row-stall = inexpliqué en tout
compare-row-wall = le log entier
web-runs = Les exécutions de ce dossier
web-choose = Comparer
web-failed = Le serveur ne répond pas : tourne-t-il encore ?

change-eval-epochs = évaluer toutes les { $proposed } époques (actuellement : { $now })

error-plan-from-impossible = { $gpu } ne peut pas être si rapide : avec ce modèle, les itérations du log atteindraient { $share } de son pic
    .hint = vérifiez --params, --context, --from-gpu, batch_size et gradient_accumulation_steps

advice-a108-costs-unseen = Un plantage peut faire perdre jusqu’à { $duration } de travail. Il n’y en a pas encore eu ; on en suppose un par semaine.

warning-unknown-card = avertissement : GPU inconnu ({ $name }), rien ne peut donc être dit de son pic ; sont connus par exemple { $known } : stepscope doc cards donne la liste complète
warning-no-effect = avertissement : { $flag } n’a aucun effet sur un affichage en direct
error-too-large-inside = ce fichier décompressé dépasse { $size }
    .hint = décompressez-le et prenez la partie voulue : zcat file.gz | head -c 100M > partie.log

## À quel point la lecture est sûre

section-reading = Ce log a-t-il été bien lu ?
reading-doubt = Cette lecture est douteuse (confiance { $confidence }) : vérifiez-la avant de vous fier aux chiffres ci-dessous.
reading-doubt-below = Le poste le plus coûteux, ci-dessous, est peut-être un temps mal lu.
reading-item = { $text } [{ $code }]
reading-settle = Pour le savoir : stepscope formats try { $path } montre comment chaque format lit ce log ; --format-file FICHIER le lit avec un autre, --set clé=valeur indique ce qu’il ne dit pas.
reading-agrees = Lecture : { $text }
reading-eta-doubt = douteux : ce log a peut-être été mal lu. { $text }
audit-clocks-none = Une seule horloge : rien d’autre dans le log ne confirme ses temps.
audit-clocks-agree = { $name ->
    [stamps] vérifiée à l’aide des horodatages, qui concordent ({ $used } et { $other }).
   *[other] vérifiée à l’aide du total que donne le log, « { $name } », qui concorde ({ $used } et { $other }).
  }
audit-clocks-differ = { $name ->
    [stamps] Les temps affichés font { $used } en tout, les horodatages des mêmes lignes { $other }.
   *[other] Les temps lus font { $used } en tout, mais le total que donne le log, « { $name } », est de { $other }.
  }
audit-unread-counts-none = Aucune ligne non lue ne contient de compteur croissant.
audit-unread-counts = { $count ->
    [one] Une ligne que Stepscope ne lit pas contient un compteur semblable à celui des itérations : « { $text } » (ligne { $line }).
   *[other] { $count } lignes que Stepscope ne lit pas contiennent un compteur semblable à celui des itérations : « { $text } » (à partir de la ligne { $line }).
  }
audit-unread-times-none = Aucune ligne non lue ne donne des temps de façon répétée.
audit-unread-times = { $count ->
    [one] Une ligne que Stepscope ne lit pas contient peut-être un temps ou une perte : « { $text } » (ligne { $line }).
   *[other] { $count } lignes que Stepscope ne lit pas contiennent peut-être un temps ou une perte : « { $text } » (à partir de la ligne { $line }).
  }
audit-evaluations-booked = Les évaluations sont comptabilisées.
audit-evaluations-unread = { $count ->
    [one] Une ligne ressemble à une évaluation qui n’est pas comptabilisée : « { $text } » (ligne { $line }).
   *[other] { $count } lignes ressemblent à des évaluations qui ne sont pas comptabilisées : « { $text } » (à partir de la ligne { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] Une évaluation a été vue, mais rien ne montre ce qu’elle a coûté.
   *[other] { $count } évaluations ont été vues, mais rien ne montre ce qu’elles ont coûté.
  }
audit-evaluations-none = Aucune ligne ne ressemble à une évaluation.
audit-end-short = Le log dit que l’exécution est terminée, mais la dernière itération lue est { $step } sur { $total }.
audit-end-unread = La ligne { $line } signifie peut-être que l’exécution est terminée : « { $text } ».
audit-end-known = Le log dit comment l’exécution s’est terminée, et sa dernière itération concorde.
audit-end-none = Aucune ligne non lue ne mentionne une fin.
audit-step-none = Des itérations ont été lues, mais on ne peut pas en tirer de durée normale.
audit-step-plausible = { $duration } par itération est plausible.
audit-step-odd = Des itérations de { $duration }, ou des temps aussi inégaux, sont inhabituels pour un entraînement.
audit-step-mean = Les itérations affichées durent { $duration }, mais la moyenne de toutes les itérations que donne le log est de { $mean }.
audit-step-clock = Les durées affichées augmentent de { $each } à chaque itération, à partir de zéro : elles viennent peut-être d’un chronomètre jamais remis à zéro. Une itération prend alors { $each }, et non { $duration }.
audit-total-none = Il n’y a pas de total à comparer.
audit-total-negative = Le total de { $duration } contredit la somme de ses parties.
audit-total-explained = { $share } du temps est comptabilisé.
audit-total-unexplained = Rien dans le log n’explique { $share } du temps ({ $duration }).
audit-total-gap = Pendant { $share } du temps ({ $duration }), rien n’a tourné, à moins que des horodatages n’aient été mal lus.
audit-counter-short = Trop peu d’itérations pour voir si leurs numéros se suivent régulièrement.
audit-counter-regular = Les numéros d’itération se suivent régulièrement.
audit-clock-none = Le log n’a pas d’horodatage qui puisse reculer.
audit-clock-runs-on = Les horodatages ne reculent jamais.
audit-clock-negative = L’horloge de la barre de progression est négative à la ligne { $line } : l’horloge de la machine a été reculée pendant l’écriture du log. Les itérations suivantes ne sont pas comptées.
audit-clock-set = { $count ->
    [one] L’horloge a été reculée une fois pendant l’écriture du log (ligne { $line }, de { $by }) ; le temps écoulé à ce moment est estimé.
   *[other] L’horloge a été reculée { $count } fois pendant l’écriture du log (le plus à la ligne { $line }, de { $by }) ; le temps écoulé à ces moments est estimé.
  }
audit-counter-again = { $count ->
    [one] Le compte repart du début une fois : le total est celui des deux lancements, alors que seul le dernier vous intéresse peut-être.
   *[other] Le compte repart du début { $count } fois : le total est celui de tous les lancements, alors que seul le dernier vous intéresse peut-être.
  }
audit-counter-epochs = Dans { $count } entraînements, le compte va jusqu’à la même fin : chacun peut être une époque d’un seul.
audit-counter-jumps = { $count ->
    [0] Les numéros d’itération ne se suivent pas régulièrement.
    [one] Les numéros d’itération ne se suivent pas régulièrement, ou repartent du début (une fois).
   *[other] Les numéros d’itération ne se suivent pas régulièrement, ou repartent du début ({ $count } fois).
  }
audit-lines-none = Il n’y a pas de lignes à compter.
audit-lines-many = { $share } des lignes sont lues.
audit-lines-few = { $share } des lignes seulement sont lues.
audit-format-known = Le format est connu : { $format }.
audit-format-inferred = Le format est inconnu ; le sens des lignes a été déduit de leur structure (confiance { $confidence }).
audit-formats-none = Aucun autre format n’a été essayé.
audit-formats-one = Aucun autre format ne convient à peu près aussi bien que { $format }.
audit-formats-close = Deux formats conviennent à peu près aussi bien : { $format } explique { $share } du log, { $other } { $rest }.
audit-trained-none = Aucune itération n’a été lue.
audit-trained = Des pertes, des évaluations ou des checkpoints accompagnent les itérations.
audit-trained-named = Les itérations affichent des résultats d’entraînement, par exemple « { $text } ».
audit-trained-unknown = Rien ne montre qu’il s’agit d’un entraînement : ni perte, ni évaluation, ni checkpoint.
reason-no-steps-unread = aucune itération chronométrée n’a été lue. Des lignes comme « { $text } » (ligne { $line }) en contiennent peut-être ; Stepscope ne les lit pas.
reason-no-steps-over = aucune itération chronométrée n’a été lue, et le log montre que l’exécution est terminée : il n’en viendra plus.
reason-no-times-unread = des itérations ont été lues, mais pas leurs durées. Des lignes comme « { $text } » (ligne { $line }) les contiennent peut-être ; Stepscope ne les lit pas.
reason-no-total-unread = le nombre total d’itérations n’a pas été lu. Des lignes comme « { $text } » (ligne { $line }) le contiennent peut-être ; Stepscope ne les lit pas. Indiquez --max-steps N, ou --config avec les réglages de l’exécution.
change-none-seen-unread = Rien ne mérite d’être changé dans ce qui a été lu : aucune évaluation n’est comptabilisée. Des lignes comme « { $text } » (ligne { $line }) en contiennent peut-être une ; Stepscope ne les lit pas.
alarm-ended-early-unread = L’exécution s’est arrêtée après l’itération { $step } ; le nombre prévu n’a pas été lu. Des lignes comme « { $text } » (ligne { $line }) le contiennent peut-être ; Stepscope ne les lit pas.

## Ce qui a coûté le plus de temps

finding-evaluation = { $count ->
    [one] Une évaluation a pris { $seconds }, soit { $share } du temps.
   *[other] { $count } évaluations ont pris { $seconds }, soit { $share } du temps.
  }
finding-checkpoint = { $count ->
    [one] Un checkpoint a pris { $seconds }, soit { $share } du temps.
   *[other] { $count } checkpoints ont pris { $seconds }, soit { $share } du temps.
  }
finding-warmup = Le préchauffage (compilation, première utilisation du GPU) a pris { $seconds }, soit { $share } du temps.
finding-data = L’attente des données a pris { $seconds }, soit { $share } du temps.
finding-gc = Le ramasse-miettes a pris { $seconds }, soit { $share } du temps.
finding-logging = L’écriture du log a pris { $seconds }, soit { $share } du temps.
finding-communication = L’attente d’autres processus a pris { $seconds }, soit { $share } du temps.
finding-stall = Des pauses inexpliquées ont pris { $seconds }, soit { $share } du temps.
finding-gap = Rien n’a tourné pendant { $seconds }, soit { $share } du temps : redémarrages ou machine en veille.
finding-unlogged = Le log n’explique pas { $seconds }, soit { $share } du temps.
finding-slower = Les itérations { $first } à { $last } ont duré { $level } au lieu de { $normal } : cela a coûté { $seconds }, soit { $share } du temps.
finding-repeated = { $count ->
    [one] Une itération a été refaite après un redémarrage : { $seconds } d’entraînement, soit { $share } du temps.
   *[other] { $count } itérations ont été refaites après des redémarrages : { $seconds } d’entraînement, soit { $share } du temps.
  }
finding-after-best = La perte de validation était la plus basse à l’itération { $step } ({ $loss }). Les { $seconds } qui ont suivi, soit { $share } du temps, ont dégradé le modèle.

## La réponse en trois lignes

summary-running = En cours : { $where }
summary-finished = Terminé : { $where }
summary-stopped = Arrêté sans message : { $where }
summary-unknown = Peut-être encore en cours : { $where }
summary-crashed = Planté après { $wall } : { $where }
summary-crashed-early = Planté avant la première itération
summary-crashed-unread = Planté ; aucune itération reconnue
summary-crashed-untimed = Planté : { $where }
summary-out_of_memory = Mémoire saturée après { $wall } : { $where }
summary-out_of_memory-early = Mémoire saturée avant la première itération
summary-out_of_memory-unread = Mémoire saturée ; aucune itération reconnue
summary-out_of_memory-untimed = Mémoire saturée : { $where }
summary-interrupted = Interrompu après { $wall } : { $where }
summary-interrupted-early = Interrompu avant la première itération
summary-interrupted-unread = Interrompu ; aucune itération reconnue
summary-interrupted-untimed = Interrompu : { $where }
summary-killed = Processus tué après { $wall } : { $where }
summary-killed-early = Processus tué avant la première itération
summary-killed-unread = Processus tué ; aucune itération reconnue
summary-killed-untimed = Processus tué : { $where }
summary-cause = Ligne { $line } : { $text }
summary-memory = Demande de { $asked }, or { $free } sur { $total } étaient libres (ligne { $line })
summary-smaller = Divisez le batch par deux et doublez l’accumulation : même entraînement
summary-smaller-batch = Essayez batch { $batch_size } × accumulation { $accumulation } : autant de tokens par itération
summary-lost = { $count ->
    [0] Rien n’est perdu : le dernier checkpoint date de la dernière itération, { $step }
    [one] Perdu : une itération ({ $seconds }) depuis le dernier checkpoint, à { $step }
   *[other] Perdu : { $count } itérations ({ $seconds }) depuis le dernier checkpoint, à { $step }
  }
summary-lost-all = Le log ne montre aucun checkpoint : s’il n’y en a pas, tout est perdu ({ $wall })
summary-for-times = Pour avoir des temps, lancez : stepscope run -- python train.py
summary-for-trace = Pour mesurer les itérations de l’intérieur, lancez : stepscope run --trace -- python train.py
summary-teach = Pour connaître le sens de ces lignes : stepscope formats try LOG --suggest
summary-nothing-lost = Aucun temps d’entraînement perdu : aucune itération n’a été faite
summary-left = Temps restant : { $left }{ $range }
summary-left-done = Temps restant : { $left }{ $range } · fin : { $time }
summary-left-if = S’il est encore en cours, temps restant : { $left }{ $range }
summary-left-default = Temps restant : { $left }{ $range }, pour les { $count } itérations par défaut
summary-left-done-default = Temps restant : { $left }{ $range } · fin : { $time }, pour les { $count } itérations par défaut
summary-resumed = Durée : { $wall } ; en cas de reprise, il resterait { $left }{ $range }
summary-took = Durée : { $wall }
summary-took-each = Durée : { $wall }, { $level } par itération
summary-ran = Durée : { $wall }
summary-ran-each = Durée : { $wall }, { $level } par itération
summary-doubt = { $each } ou { $one } par itération : « { $text } » en couvre { $count } ou une seule
summary-doubt-unit = « { $text } » n’a pas d’unité et couvre { $count } itérations ou une seule
summary-no-times = Le log ne donne aucun temps : ni durée ni heure de fin
summary-no-steps = Aucune itération chronométrée pour l’instant : ni durée ni heure de fin
summary-only-evaluations = { $count ->
    [one] Une évaluation a pris { $seconds } ; aucune itération n’est chronométrée
   *[other] { $count } évaluations ont pris de { $low } à { $high } chacune, { $seconds } en tout ; aucune itération n’est chronométrée
}
summary-so-far-no-total = { $wall } jusqu’ici ; pour l’heure de fin, indiquez --max-steps N
summary-so-far-no-end = { $wall } jusqu’ici ; pas encore d’heure de fin
summary-each-no-total = { $wall } jusqu’ici, { $level } par itération ; heure de fin avec --max-steps N
summary-each-no-end = { $wall } jusqu’ici, { $level } par itération ; pas encore d’heure de fin
summary-unlogged = Coût principal : { $seconds } ({ $share }) que le log n’explique pas
summary-healthy = Rien à corriger : l’entraînement occupe { $share } du temps
summary-healthy-part = Rien à corriger dans ce que le log chronomètre ; sans durée : { $stops }
summary-healthy-inside = Rien à corriger dans ce que le log chronomètre ; compris dans l’entraînement : { $stops }
summary-few = Trop peu de lignes pour dire ce qui coûte du temps
summary-no-cost = Aucun coût évitable de 1 % ou plus n’a été trouvé
size-mib = { $size } Mio
size-gib = { $size } Gio
cost-evaluation = { $count ->
    [one] Coût principal : une évaluation, { $seconds } ({ $share } du temps)
   *[other] Coût principal : { $count } évaluations, { $seconds } ({ $share } du temps)
  }
cost-checkpoint = { $count ->
    [one] Coût principal : un checkpoint, { $seconds } ({ $share } du temps)
   *[other] Coût principal : { $count } checkpoints, { $seconds } ({ $share } du temps)
  }
cost-warmup = Coût principal : le préchauffage (compilation, première utilisation du GPU), { $seconds } ({ $share })
cost-data = Coût principal : l’attente des données, { $seconds } ({ $share } du temps)
cost-gc = Coût principal : le ramasse-miettes, { $seconds } ({ $share } du temps)
cost-logging = Coût principal : l’écriture du log, { $seconds } ({ $share } du temps)
cost-communication = Coût principal : l’attente d’autres processus, { $seconds } ({ $share } du temps)
cost-stall = Coût principal : des pauses inexpliquées, { $seconds } ({ $share } du temps)
cost-gap = Coût principal : { $seconds } ({ $share }) d’inactivité (redémarrages, mise en veille)
cost-slower = Coût principal : itérations lentes { $first }–{ $last }, { $seconds } ({ $share } du temps)
cost-repeated = { $count ->
    [one] Coût principal : une itération refaite après un redémarrage, { $seconds } ({ $share })
   *[other] Coût principal : { $count } itérations refaites après des redémarrages, { $seconds } ({ $share })
  }
cost-after-best = Coût principal : { $seconds } ({ $share }) après la meilleure perte (itération { $step })

## Un écran

slow-group-times = { $where } ({ $count }×)
slow-group-some = { $count } itérations
section-slow-lines = Lignes lentes ({ $count } itérations chacune)
section-change-next = À changer la prochaine fois
change-savings-rest = gains sur le reste de cette exécution
change-savings-run = gains sur une exécution comme celle-ci
finish-would = sans cet arrêt, fin : { $time } ({ $low } – { $high })
slow-group-every = toutes les { $every }
slow-group-window = { $first }–{ $last }
change-short = { $change } : gain de { $duration }
part-about = { $phase } ≈{ $duration }
screen-more = Plus de détails : --full
screen-more-about = Plus de détails : --full. ≈ : ce log ne donne pas de chiffre exact.
screen-more-lines = { $count ->
    [one] … et une de plus
   *[other] … et { $count } de plus
  }
screen-inferred = Format inconnu, lu d’après sa structure (confiance { $confidence }) : stepscope formats try { $path } --suggest
## Flottes

fleet-listing = { $found } logs trouvés pour l’instant
fleet-progress = { $done } sur { $total } · { $rate } par seconde · temps restant : { $left }
fleet-scanned = { $runs ->
    [one] Une exécution lue, échecs de lecture : { $failed } ; dossiers et logs inchangés : { $known } sur { $found }.
   *[other] { $runs } exécutions lues, échecs de lecture : { $failed } ; dossiers et logs inchangés : { $known } sur { $found }.
  }
fleet-unreadable-folder = avertissement : impossible de lister le dossier { $path }
error-bad-workers = --workers attend un nombre entier de 1 à 4095
    .hint = par exemple : --workers 8
error-fleet-needs-place = rien à lire
    .hint = indiquez des dossiers, des logs ou des buckets : stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = un autre scan écrit dans cette base
    .hint = attendez qu’il finisse, ou choisissez un autre --store
error-fleet-too-slow = la lecture a pris plus de { $minutes } minutes
    .hint = essayez ce log seul : stepscope { $place }
error-bucket-without-name = aucun bucket n’est indiqué
    .hint = par exemple : s3://logs/runs
error-no-bucket = ce bucket n’existe pas
    .hint = vérifiez son nom et, si ce n’est pas le service du fournisseur lui-même, AWS_ENDPOINT_URL
error-no-such-object = il n’y a rien à cet endroit
    .hint = vérifiez la clé : un préfixe se termine là où finirait un dossier
error-bucket-no-credentials = aucun identifiant pour ce bucket
    .hint = configurez-les comme pour les outils du fournisseur, ou AWS_SKIP_SIGNATURE=true si le bucket est public
error-bucket-refused = ces identifiants ne permettent pas de le lire
    .hint = il faut le droit de lister et de lire
error-bucket-unreachable = impossible de lire le bucket : { $reason }
    .hint = vérifiez l’endpoint, la région et le réseau
error-bucket-unsorted = ce bucket ne liste pas ses clés dans l’ordre
    .hint = c’est le cas des buckets de répertoires de S3 : copiez les logs dans un bucket à usage général, ou lisez-les depuis un disque
error-bad-engine = ce n’est pas un moteur
    .hint = par exemple : --engine pool, --engine ray://head:10001, --engine dask://scheduler:8786
error-engine-unreachable = pas de connexion au cluster : { $reason }
    .hint = vérifiez son adresse, et qu’il tourne
error-worker-without-us = un worker ne peut pas importer Stepscope : { $reason }
    .hint = installez la même version sur les workers, avec l’extra fleet
fleet-watching = { $count } suivis · { $stalled } bloqués · { $ended } terminés · { $alarms } alertes
fleet-not-followed = avertissement : { $path } n’est pas suivi : { $reason }
error-fleet-without-sources = cette base ne sait pas où sont ses logs
    .hint = lisez-les d’abord : stepscope fleet scan /logs/slurm --store { $place }

## La page d’un entraînement

state-name-running = En cours
state-name-finished = Terminé
state-name-crashed = Planté
state-name-out_of_memory = Mémoire saturée
state-name-interrupted = Interrompu
state-name-killed = Tué
state-name-stopped = Arrêté
state-name-unknown = État inconnu
page-last-line = dernière ligne
page-export = Exporter
page-export-summary = Copier le résumé
page-export-json = Enregistrer les données (JSON)
page-export-link = Copier un lien vers cette vue
page-export-print = Imprimer
page-export-more = D’autres formats, depuis un terminal :
page-copy = Copier
page-copied = Copié
page-card-do = Que faire
page-card-done = Fin prévue
page-card-left = Temps restant
page-card-left-if = Temps restant, si elle continue
page-card-took = Durée
page-card-progress = Progression
page-card-speed = Vitesse
page-card-overhead = Surcoût
page-ended-at = fin : { $time }
page-elapsed = { $duration } jusqu’ici
page-no-total = total inconnu
page-iterations = { $count ->
    [one] itération
   *[other] itérations
}
page-per-iteration = par itération
page-speed-range = { $share } des itérations : { $span }
page-speed-tokens = { $tokens } tokens/s
page-overhead-none = tout le temps va à l’entraînement
section-findings = Ce qui a coûté du temps
page-why = Pourquoi, et ce que cela coûte
page-more-advice = À changer aussi
page-more-changes = { $count ->
    [one] Une autre possibilité
   *[other] { $count } autres possibilités
}
page-timeline = Chronologie
page-lane-level = temps par itération
page-lane-stops = itérations lentes et arrêts, décomposés
page-unprinted = non affichées (1 sur { $count } l’est)
page-training-loss = perte d’entraînement
page-best = meilleure : { $loss } (itération { $step })
page-tip-window = Itérations { $first }–{ $last } ({ $count }) : { $took } chacune
page-strip-hint-touch = Touchez pour voir les valeurs ; les boutons ci-dessus servent à zoomer et à se déplacer.
page-tabs = Détails
page-tab-forecast = Prévision
page-tab-ranks = Ranks
page-tab-log = Log
page-column-count = nombre
page-column-each = chacune
page-column-extra = en plus
page-column-cause = cause
page-column-rank = rank
page-column-host = hôte
page-column-format = format
page-slow-groups = Par type
page-slow-each = Une par une
page-window = { $first }–{ $last } ({ $count } itérations)
page-fan-changed = avec le changement
page-reset = Réinitialiser
page-copy-flags = Copier sous forme d’options
page-ranks-hint = Chaque ligne est un rank, chaque colonne une portion de l’exécution. La couleur compare son temps par itération à la médiane de tous les ranks au même moment.
page-log-hint = Les lignes d’où viennent les chiffres, dans la mesure où on peut les citer : itérations lentes, évaluations, checkpoints, remarques, la fin, les lignes non comprises et des itérations intermédiaires. Le numéro à droite renvoie à la chronologie.
page-log-whole = Les { $count } lignes du log ; le numéro à droite renvoie à l’itération dans la chronologie.
page-log-find = Chercher
page-sure = Confiance dans cette lecture
page-candidates = Formats essayés
page-verdict-agrees = concorde
page-verdict-disagrees = contredit
page-verdict-cannot-tell = indéterminé
page-card-lost = Ce qui est perdu
page-card-so-far = Jusqu’ici
page-more-alarms = { $count } de plus
page-show = Voir dans la chronologie
page-best-loss = meilleure perte de validation : { $loss } (itération { $step })
page-window-mark = moyenne des itérations que couvre une ligne
page-tokens-per-s = tokens/s
page-steps-per-s = itérations/s
error-theme-without-picture = --theme concerne les images
    .hint = ajoutez --format png ou --format svg
# The runs of a folder
runs-title = { $count } exécutions dans { $path }, la plus récente d’abord
runs-column-run = exécution
runs-column-state = état
runs-column-done = avancée
runs-column-time = temps
runs-column-lost = perdu
runs-column-cost = surtout
runs-state-running = en cours
runs-state-finished = terminée
runs-state-stopped = arrêtée
runs-state-unknown = en cours ?
runs-state-crashed = plantée
runs-state-out_of_memory = mémoire saturée
runs-state-interrupted = interrompue
runs-state-killed = tuée
runs-left = reste { $left }
runs-cost-after-best = après l’optimum
runs-cost-slower = passage lent
runs-cost-repeated = travail refait
runs-too-large = trop volumineux pour cette liste
runs-open = Pour en ouvrir une : { $command }
runs-one-of = { $folder } contient { $count } exécutions ; voici { $path }. Pour les voir toutes : stepscope { $folder }
runs-more = { $count ->
    [one] Un autre fichier, plus ancien, n’a pas été examiné. Pour toutes les voir : stepscope serve { $path }
   *[other] { $count } autres fichiers, plus anciens, n’ont pas été examinés. Pour toutes les voir : stepscope serve { $path }
}
error-several-runs = ce format est fait pour une seule exécution, et le dossier en contient { $count } ou plus
    .hint = indiquez l’une d’elles : stepscope { $path }

# compare --fail-on
gate-passed-same = Réussi : pas plus lent.
gate-passed-slower = Réussi : plus lent de { $change }, dans la limite de { $limit }.
gate-passed-faster = Réussi : plus rapide de { $change }.
gate-slower = Plus lent de { $change }{ $span } : au-delà de la limite de { $limit }, et plus que du bruit.
gate-cannot-judge = Impossible de juger : { $reason }.
gate-noise = plus lent de { $change }, mais c’est peut-être du bruit
gate-unsure = { $path } a peut-être été mal lu
gate-too-few = { $path } contient { $count } itérations normales chronométrées, il en faut { $least }
gate-no-time = les temps de { $path } sont trop grossiers pour comparer
error-bad-fail-on = --fail-on attend un pourcentage
    .hint = par exemple : --fail-on 5%
error-bad-baseline = cette référence enregistrée est endommagée ({ $reason })
    .hint = enregistrez-la de nouveau : stepscope compare LOG --save-baseline FICHIER

# --price
with-amount = { $text } · { $money }
with-money = { $text } · { $money } à { $rate }
with-money-of = { $text } · { $money } à { $rate } × { $count } GPU
eta-line-left = { $left }
error-price-needs-power = un prix au kilowattheure suppose de connaître la puissance que consomme le GPU
    .hint = indiquez --nvidia-smi FICHIER, ou un prix à l’heure comme --price 2.10/h

# Live: the best model lies long behind
alarm-past-best = La perte de validation était la plus basse à l’itération { $step } ({ $loss }), et les { $count } évaluations suivantes sont moins bonnes ; { $share } du temps a été passé après. S’arrêter maintenant ne coûte rien : le checkpoint de cette itération est enregistré.
alarm-past-best-left = La perte de validation était la plus basse à l’itération { $step } ({ $loss }), et les { $count } évaluations suivantes sont moins bonnes ; { $share } du temps a été passé après. S’arrêter maintenant ne coûte rien et économise { $left } : le checkpoint de cette itération est enregistré.
alarm-past-best-unsaved = La perte de validation était la plus basse à l’itération { $step } ({ $loss }), et les { $count } évaluations suivantes sont moins bonnes ; { $share } du temps a été passé après. Continuer ainsi n’aidera pas ; le log ne montre aucun checkpoint de cette itération.
alarm-past-best-unsaved-left = La perte de validation était la plus basse à l’itération { $step } ({ $loss }), et les { $count } évaluations suivantes sont moins bonnes ; { $share } du temps a été passé après. Continuer encore { $left } n’aidera guère ; le log ne montre aucun checkpoint de cette itération.

# The answer in three lines, where a mean is no normal iteration
summary-each-no-total-mean = { $wall } jusqu’ici, { $level } par itération en moyenne ; fin avec --max-steps N
summary-each-no-end-mean = { $wall } jusqu’ici, { $level } par itération en moyenne ; pas encore d’heure de fin
state-last-written-only = dernière ligne : { $at }
error-fleet-bad-pattern = un motif de chemin nomme entre accolades les données user, project, commit, gpu, hosts, devices, job_id ou price, chacune une seule fois
    .hint = voir docs/fleet.md, "Facts that logs rarely hold"
error-fleet-bad-facts = ce n’est pas un tableau de données
    .hint = un fichier CSV dont la première ligne nomme les colonnes : { $columns }
error-fleet-bad-sacct = ce n’est pas la sortie de sacct --parsable2
    .hint = par exemple : sacct --parsable2 --format JobID,User,Account,AllocTRES,NodeList,Start,Timelimit > jobs.txt
fleet-gpu-hours = { $hours } h GPU
fleet-run-hours = { $hours } h
fleet-with-cost = { $hours } (coût { $cost })
fleet-with-money = { $hours } ({ $cost })
fleet-unit-gpu = heures GPU
fleet-unit-run = heures
fleet-head = { $runs ->
    [one] Goodput de { $share }{ $range } sur { $amount } en une seule exécution.
   *[other] Goodput de { $share }{ $range } sur { $amount } en { $runs } exécutions.
  }
fleet-nothing-timed = { $count ->
    [one] Une exécution, dont le log ne contient aucun temps.
   *[other] { $count } exécutions, dont aucun log ne contient de temps.
  }
fleet-rests-on = { $unexplained } du temps n’apparaît dans aucune ligne des logs. Si chaque exécution compte une fois, le goodput est de { $runs }.
fleet-each-once = Si chaque exécution compte une fois, le goodput est de { $runs }.
fleet-lost = Perdu : { $amount }, surtout : { $cause }, { $most }.
fleet-first = À corriger d’abord : { $what }. Cela aurait économisé { $amount }.
fleet-then = Ensuite : { $what }.
fleet-counted = { $count ->
    [one] Sur { $of } exécutions, seule compte celle dont le nombre de GPU est connu.
   *[other] Sur { $of } exécutions, seules comptent les { $count } dont le nombre de GPU est connu.
  }
fleet-fix-regression = regardez ce qui a changé avec { $name } : depuis, une itération dure plus longtemps
fleet-fix-host = retirez du service l’hôte { $name } jusqu’à sa réparation
fleet-copies = { $count ->
    [one] Un log est la copie d’un autre : leur exécution ne compte qu’une fois.
   *[other] { $count } logs sont des copies d’autres : chaque exécution ne compte qu’une fois.
  }
fleet-paused = { $count ->
    [one] Une exécution est restée arrêtée plus d’une heure entre deux démarrages, { $amount } en tout : non compté, car d’autres jobs ont pu occuper ses GPU.
   *[other] { $count } exécutions sont restées arrêtées plus d’une heure entre deux démarrages, { $amount } en tout : non compté, car d’autres jobs ont pu occuper leurs GPU.
  }
fleet-training = { $count ->
    [one] Une exécution a planté ou redémarré : après cette perte, il lui restait { $share } de son temps.
   *[other] { $count } exécutions ont planté ou redémarré : après cette perte, il leur restait { $share } de leur temps.
  }
fleet-column-cause = cause
fleet-column-cost = coût
fleet-column-share = part
fleet-column-runs = exéc.
fleet-column-each = moyenne par exéc.
fleet-column-host = hôte
fleet-column-ratio = itération
fleet-column-slow = lentes
fleet-column-crashed = plantées
fleet-column-verdict = verdict
fleet-column-run = exécution
fleet-column-left = temps restant
fleet-column-chance = finit à temps
fleet-column-alarms = alertes
fleet-column-goodput = goodput
fleet-column-lost = perdu
fleet-column-worst = surtout
fleet-cause-after_best = après la meilleure perte
fleet-cause-slower = passages plus lents
fleet-cause-lost_work = refait après un redémarrage
fleet-cause-died_after_checkpoint = planté après un checkpoint
fleet-cause-died_before_checkpoint = planté avant tout checkpoint
fleet-cause-straggler = attente d’un rank lent
fleet-cause-stall = arrêts de cause inconnue
fleet-remedy-evaluation = évaluez moins souvent, ou sur moins de batches
fleet-remedy-checkpoint = enregistrez des checkpoints moins souvent, ou en arrière-plan
fleet-remedy-warmup = gardez le cache de compilation d’une exécution à l’autre
fleet-remedy-data = chargez les batches avec plus de processus
fleet-remedy-gc = ne lancez le ramasse-miettes qu’à intervalle fixe
fleet-remedy-logging = écrivez moins souvent dans le log
fleet-remedy-communication = vérifiez le réseau et le placement des ranks
fleet-remedy-stall = enregistrez un tel job avec stepscope run --trace pour voir ce qu’il attend
fleet-remedy-gap = redémarrez les jobs immédiatement et automatiquement
fleet-remedy-after_best = arrêtez quand la perte de validation remonte
fleet-remedy-slower = vérifiez la température, les fréquences et les autres jobs de ces hôtes
fleet-remedy-lost_work = enregistrez des checkpoints plus souvent
fleet-remedy-died_after_checkpoint = enregistrez des checkpoints plus souvent et redémarrez les jobs plantés
fleet-remedy-died_before_checkpoint = essayez d’abord chaque job sur quelques itérations, et enregistrez tôt un checkpoint
fleet-remedy-straggler = retirez l’hôte lent
fleet-back = Retour à la flotte
fleet-cause-spread = { $count ->
    [one] dans une exécution ; si chaque exécution compte une fois, { $share } du temps
   *[other] dans { $count } exécutions ; si chaque exécution compte une fois, { $share } du temps
}
fleet-would-save = { $what } ; aurait économisé { $amount }
fleet-beyond = Sur ce total, { $amount } sans gain de précision utile.
fleet-tradeoff = Avec moins de checkpoints, une exécution qui plante perd davantage ; jusqu’ici, cela a coûté { $amount }.
fleet-most-in = surtout dans { $run } : { $amount }
fleet-regression-commit = { $config } : depuis le commit { $since }, une itération prend { $share } de plus{ $range } : { $before } → { $after }, surtout : { $phase }. { $count ->
    [one] Une exécution depuis,
   *[other] { $count } exécutions depuis,
  } { $amount } de plus qu’avant.
fleet-regression-day = { $config } : depuis le { $since }, une itération prend { $share } de plus{ $range } : { $before } → { $after }, surtout : { $phase }. { $count ->
    [one] Une exécution depuis,
   *[other] { $count } exécutions depuis,
  } { $amount } de plus qu’avant.
fleet-since-range = { $since } (entre { $low } et { $high })
fleet-lemon-slow = défectueux : lent
fleet-lemon-crashing = défectueux : plante
fleet-no-lemon = { $count ->
    [one] Un hôte, ni plus lent ni plus souvent planté que le hasard ne l’explique.
   *[other] { $count } hôtes, aucun plus lent ni plus souvent planté que le hasard ne l’explique.
  }
fleet-unknown = inconnu
fleet-by-host = hôte
fleet-by-user = utilisateur
fleet-by-project = projet
fleet-by-trainer = programme
fleet-by-gpu = GPU
fleet-by-commit = commit
fleet-section-causes = Où est passé le temps, le plus coûteux d’abord
fleet-section-advice = Que faire
fleet-section-regressions = Ce qui a ralenti
fleet-section-hosts = Hôtes
fleet-section-running = En cours à la dernière lecture ({ $count })
fleet-section-by = Détail
fleet-section-missing = Ce qui n’est pas connu
fleet-unread = { $count ->
    [one] Un fichier n’a pas été lu : { $reason }
   *[other] { $count } fichiers n’ont pas été lus : { $reason }
  }
fleet-untimed = { $count ->
    [one] Une exécution n’a pas de temps dans son log et reste de côté.
   *[other] { $count } exécutions n’ont pas de temps dans leurs logs et restent de côté.
  }
fleet-without-devices = { $count ->
    [one] Une exécution ne dit pas sur combien de GPU elle a tourné : elle ne compte dans aucune heure GPU.
   *[other] { $count } exécutions ne disent pas sur combien de GPU elles ont tourné : elles ne comptent dans aucune heure GPU.
  }
fleet-without-price = { $count ->
    [one] Une exécution n’a pas de prix : elle n’entre dans aucun coût.
   *[other] { $count } exécutions n’ont pas de prix : elles n’entrent dans aucun coût.
  }
fleet-without-hosts = { $count ->
    [one] Une exécution ne dit pas sur quels hôtes elle a tourné : elle n’est imputée à aucun hôte.
   *[other] { $count } exécutions ne disent pas sur quels hôtes elles ont tourné : elles ne sont imputées à aucun hôte.
  }
fleet-without-commit = { $count ->
    [one] Une exécution n’indique pas son commit : les changements de sa configuration sont datés au jour près.
   *[other] { $count } exécutions n’indiquent pas leur commit : les changements de leurs configurations sont datés au jour près.
  }
fleet-without-user = { $count ->
    [one] Une exécution sans utilisateur.
   *[other] { $count } exécutions sans utilisateur.
  }
fleet-without-project = { $count ->
    [one] Une exécution sans projet.
   *[other] { $count } exécutions sans projet.
  }
fleet-without-gpu = { $count ->
    [one] Une exécution sans modèle de GPU.
   *[other] { $count } exécutions sans modèle de GPU.
  }
fleet-without-config_hash = { $count ->
    [one] Une exécution n’indique aucun réglage : elle n’est comparée à aucune autre.
   *[other] { $count } exécutions n’indiquent aucun réglage : elles ne sont comparées à aucune autre.
  }
error-fleet-no-store = cette base ne contient aucune exécution
    .hint = lisez-en d’abord : stepscope fleet scan /logs/slurm --store { $place }
error-fleet-bad-price = le prix d’une flotte est celui d’un GPU par heure
    .hint = par exemple : --price 2.10/h
fleet-filter = Montrer les lignes avec
fleet-other-causes = autres causes
fleet-section-runs = Exécutions qui ont le plus perdu
fleet-column-state = état
fleet-column-whose = utilisateur / projet
fleet-state-running = en cours
fleet-state-finished = terminée
fleet-state-crashed = plantée
fleet-state-out_of_memory = mémoire saturée
fleet-state-interrupted = interrompue
fleet-state-killed = tuée
fleet-state-stopped = arrêtée
fleet-state-unknown = inconnu
## Ce que signifie le temps affiché

clock-step = Le temps affiché est celui d’une itération.
clock-window = Le temps affiché est la moyenne des itérations depuis la ligne précédente.
clock-window-sum = Le temps affiché est celui de toutes les itérations depuis la ligne précédente.
clock-cumulative = Le log affiche une horloge qui avance de ligne en ligne.
clock-cumulative-mean = Le temps affiché est la moyenne de toutes les itérations depuis la première.
clock-stamp = Le log n’affiche pas de temps par itération ; les durées sont les écarts entre les horodatages de ses lignes.
clock-arrival = Les temps viennent de l’heure d’arrivée enregistrée de chaque ligne ; l’horloge affichée sur les lignes est moins précise.
clock-includes = Il comprend : { $phases }.
clock-more = En savoir plus sur ce format : { $command }

## La note comme article

note-calm = { $count ->
    [one] Ce pic est normal.
   *[other] Ces pics sont normaux.
  }
note-costly = Les itérations lentes sont des arrêts prévus, mais elles prennent { $share } du temps.
note-unexplained = { $count ->
    [one] Une des { $total } itérations lentes reste inexpliquée.
   *[other] { $count } des { $total } itérations lentes restent inexpliquées.
}
note-which = { $count ->
    [one] À l’itération { $steps }
   *[other] Aux itérations { $steps }
  }, l’entraînement ne ralentit pas : { $trainer } s’y arrête pour { $stops ->
    [both] mesurer la perte et enregistrer un checkpoint
    [evaluation] mesurer la perte
   *[save] enregistrer un checkpoint
  }, et son chronomètre continue de tourner.
note-which-many = Pour { $count } d’entre elles, l’entraînement ne ralentit pas : { $trainer } s’y arrête pour { $stops ->
    [both] mesurer la perte et enregistrer un checkpoint
    [evaluation] mesurer la perte
   *[save] enregistrer un checkpoint
  }, et son chronomètre continue de tourner.
note-which-all = Dans aucune d’entre elles l’entraînement ne ralentit : { $trainer } s’y arrête pour { $stops ->
    [both] mesurer la perte et enregistrer un checkpoint
    [evaluation] mesurer la perte
   *[save] enregistrer un checkpoint
  }, et son chronomètre continue de tourner.
note-micro = Une itération comprend { $accumulation } micro-batches de { $batch } séquences, en forward et en backward.
note-took = L’itération { $step } a pris { $duration } : { $parts }.
note-alike = { $count ->
    [one] Une autre du même genre a pris { $span }.
   *[other] { $count } autres du même genre ont pris { $span }.
}
note-every = Elles reviennent toutes les { $every } itérations.
note-batches = Une évaluation porte sur { $count } batches { $splits ->
    [one] sans entraîner le modèle.
   *[other] de chacun des { $splits } jeux de données, sans entraîner le modèle.
  }
note-section-first = Pourquoi l’itération { $step } dure { $duration }
note-first = Le préchauffage ne se paie qu’une fois par lancement : compilation et première utilisation du GPU.
note-section-summary = Résumé
note-sum-planned = Les itérations lentes sont des arrêts prévus, pas un ralentissement de l’entraînement : les évaluations et les checkpoints prennent { $share } du temps.
note-sum-normal = Une itération normale dure { $duration }.
note-at-most = { $phase } { $duration } au plus
note-closing = Fin prévue de l’entraînement : { $time } environ ({ $low } – { $high }).

# Keys of the live view
live-keys = q quitter · ? aide · p pause · + − étendue · c courbes · a conseil · l log
live-key-span = + − montrer plus ou moins d’itérations
live-key-charts = c   afficher ou masquer les courbes
live-key-advice = a   afficher ou masquer les conseils
live-held = En pause : l’exécution continue et les alertes sont toujours envoyées. p pour reprendre.
live-key-quit = q   quitter ; l’exécution continue
live-key-pause = p   figer l’image ou la laisser continuer (espace fait de même)
live-key-log = l   afficher ou masquer les dernières lignes du log
live-key-help = ?   fermer cette aide

# Both ends of the interval in one minute
finish-at-one = fin prévue : { $time }
## La liste des exécutions et ce qui l’entoure
app-new = Nouveau
app-close = Fermer
app-copy = Copier
app-copied = Copié
app-clear = Effacer
app-apply = Appliquer
app-dismiss = Masquer
app-all = Toutes
app-filter = Rechercher et filtrer
app-filter-state = État
app-search = Rechercher une exécution
app-any-trainer = Tous les programmes
app-any-folder = Tous les dossiers
app-folder = Dossier
app-no-folder = (ce dossier)
app-group = Grouper par dossier
app-sort = Tri
app-column-state = État
app-column-run = Exécution
app-column-trainer = Programme
app-column-progress = Progression
app-column-step = Par itération
app-column-left = Reste ou fin
app-column-overhead = Surcoût
app-column-loss = Meilleure perte val.
app-column-time = Rythme et pauses
app-column-updated = Mis à jour
app-state-running = En cours
app-state-stalled = Bloquée ?
app-state-finished = Terminée
app-state-crashed = Plantée
app-state-out-of-memory = Mém. saturée
app-state-interrupted = Interrompue
app-state-killed = Tuée
app-state-stopped = Arrêtée
app-state-unknown = Silencieuse
app-state-unread = Non lue
app-looking = Recherche des exécutions…
app-reading = Lecture : { $read } fichiers sur { $found }
app-count = { $shown } exécutions sur { $total }
app-others = Fichiers sans log d’entraînement : { $count }
app-unreadable = Dossiers illisibles : { $count }
app-no-match = Aucune exécution ne correspond. Effacez la recherche ou choisissez un autre état.
app-empty-start = Lancez un entraînement en enregistrant ses durées ; il apparaît ici en quelques secondes :
app-empty-paste = Ou ouvrez un log qui se trouve ailleurs : déposez-le sur cette page, ou collez ses lignes avec « Nouveau ».
app-choose-file = Ou choisissez un fichier :
app-facts = Ce que le log ne dit pas
app-facts-ask = Combien d’itérations comptera cette exécution ? Le log ne le dit pas
app-fact-total = Itérations au total
app-fact-parameters = Paramètres
app-fact-gpu = GPU
app-chosen = { $count } choisies
app-choose-more = Choisissez-en une de plus pour comparer.
app-most = On peut comparer jusqu’à huit exécutions.
app-files = { $count } fichiers
app-ran = a duré { $duration }
app-left-at = fin : { $time }
app-overdue = en retard
app-no-total = total inconnu
app-progress = { $step } sur { $total }
app-best-at = itération { $step }
app-now-live = En direct
app-now-off = Sans réponse
app-offline = Le serveur ne répond pas : stepscope serve tourne-t-il encore ? Cette page montre le dernier état connu et réessaie.
app-alarms = Alertes
app-notify-on = Me prévenir
app-notify-off = Notifications activées
app-notify-denied = Le navigateur bloque les notifications de cette page ; autorisez-les dans ses réglages du site.
app-notice-state = { $name } : { $state }
app-title-running = ({ $count }) Stepscope
app-overlay = Les courbes en une image
app-overlay-by = Axe horizontal
app-overlay-step = par itération
app-overlay-tokens = par tokens
app-overlay-time = par temps
app-overlay-loss = Perte d’entraînement
app-overlay-validation = Perte de validation
app-overlay-took = Temps d’une itération normale
app-unread = n’a pas pu être lue ({ $problem }) ; ouvrez-la pour en voir la cause
app-unread-large = trop grande ou trop lente à lire pour la liste ; ouvrez-la pour la lire
app-instead-reason-no-total = le log n’indique pas le nombre total d’itérations. Remplissez « Itérations au total » ci-dessus.
app-instead-reason-implausible-total = le total indiqué de { $total } itérations n’est pas plausible : à la vitesse actuelle, il faudrait encore { $left }. Corrigez « Itérations au total » ci-dessus.
app-instead-reason-no-total-unread = le nombre total d’itérations n’a pas été lu. Des lignes comme « { $text } » (ligne { $line }) le contiennent peut-être ; Stepscope ne les lit pas. Remplissez « Itérations au total » ci-dessus.
app-instead-summary-so-far-no-total = { $wall } jusqu’ici ; pour l’heure de fin, remplissez « Itérations au total »
app-instead-summary-each-no-total = { $wall } jusqu’ici, { $level } par itération ; pour l’heure de fin, remplissez « Itérations au total »
app-instead-error-no-such-file = cette exécution n’est pas (ou plus) dans le dossier
    .hint = revenez à la liste : elle montre ce qu’il y a maintenant
app-instead-error-compare-needs-two = il faut au moins deux exécutions avec des durées pour comparer
    .hint = revenez et cochez au moins deux lignes de la liste
app-left-out = Omises, car leurs logs n’ont pas de durées : { $names }
error-compare-most = on peut comparer jusqu’à huit exécutions à la fois
    .hint = revenez et cochez-en moins
app-instead-page-no-total = total inconnu : indiquez-le ci-dessus
app-instead-summary-each-no-total-mean = { $wall } jusqu’ici, { $level } par itération en moyenne ; pour l’heure de fin, remplissez « Itérations au total »
error-bad-fact = « { $text } » n’est pas un nombre entier supérieur ou égal à 1
    .hint = revenez en arrière et écrivez par exemple 20000 ou 124M
