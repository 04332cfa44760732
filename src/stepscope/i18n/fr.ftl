### Français. Les termes que l’on dit en anglais (checkpoint, batch, loss, log) restent tels quels.

## Nombres

number-least-grouped = 1000
clock-with-date = { $date }, { $time }

## Phases, preuves, origines

phase-step = entraînement
phase-evaluation = évaluation
phase-checkpoint = checkpoint
phase-warmup = démarrage
phase-data = données
phase-gc = ramasse-miettes
phase-logging = journalisation
phase-communication = communication
phase-stall = inexpliqué
phase-gap = interruption
phase-unlogged = hors du log
basis-measured = mesuré
basis-inferred = déduit
basis-assumed = supposé
basis-unpriced = { $count }×, sans durée
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
run-normal = Une itération normale prend { $duration } ; neuf sur dix prennent { $span }.
run-present = À présent, une itération prend { $duration }.
run-normal-one = Une itération normale prend { $duration }.
run-tokens = { $tokens } tokens par seconde.
run-regimes = Son niveau a changé : { $levels }.
run-level = { $duration } à partir de l’itération { $step }
run-sampled = Une itération sur { $count } est affichée ; les secondes des autres sont déduites de leurs voisines.
run-settings = Réglages : { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu } : { $details }.
gpu-load = occupée à { $share }
gpu-memory = { $used } sur { $total } GiB
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## Comment la vitesse évolue

trend-one = Une seule ligne : elle ne montre aucune tendance.
trend-one-time = Une seule durée est affichée : elle ne montre aucune tendance.
trend-steady = Stable à { $share } près : aucun ralentissement dans ces lignes.
trend-scatter = Pas de tendance : les durées varient entre { $low } et { $high }.
trend-two-speeds = Deux vitesses : { $count } itérations affichées sur { $total } prennent de { $other_low } à { $other_high }, les autres de { $low } à { $high } : { $factor } fois plus { $pace ->
    [faster] vite
   *[slower] lentement
}.
trend-every = Les plus { $pace ->
    [faster] rapides
   *[slower] lentes
} reviennent toutes les { $count } itérations.
trend-along = Les itérations { $pace ->
    [faster] accélèrent
   *[slower] ralentissent
} : de { $before } à { $after } dans ces lignes ({ $share }).
trend-along-times = Les itérations { $pace ->
    [faster] accélèrent
   *[slower] ralentissent
} : de { $before } à { $after } dans ces lignes (facteur { $factor }).
trend-since = Environ { $share } plus { $pace ->
    [faster] rapide
   *[slower] lent
} depuis l’itération { $step } : { $before } avant, { $after } ensuite.
trend-since-times = { $factor } fois plus { $pace ->
    [faster] rapide
   *[slower] lent
} depuis l’itération { $step } : { $before } avant, { $after } ensuite.
data-bottleneck = L’attente des données prend { $share } du temps ({ $wait } sur { $step } par itération) : le chargement est le goulot d’étranglement, le GPU l’attend.
data-share = L’attente des données prend { $share } du temps ({ $wait } sur { $step } par itération).
data-first = Seule la première ligne attend les données : jusqu’à l’itération { $step }, chacune a attendu { $duration }, ensuite { $usual }. Ce n’est pas le chargement qui ralentit le reste.
data-minor = L’attente des données prend { $share } du temps : ce n’est pas le chargement qui ralentit cette exécution.
data-at-once = L’attente des données prend { $share } du temps, presque tout à { $count ->
    [one] l’itération { $step }
   *[other] { $count } itérations lentes, la plus longue à { $step }
} ({ $duration }).
past-total = Le compteur a dépassé 100 % : l’entraînement reprend un modèle chargé, et le temps restant affiché ne veut rien dire.
rate-needs-size = Le log n’affiche que des débits : pour les secondes par itération, il faut la taille du lot.
rate-one = { $level } { $unit } par seconde sur une seule ligne : elle ne montre aucune tendance.
rate-one-time = { $level } { $unit } par seconde, affiché une seule fois : aucune tendance visible.
rate-steady = Stable à { $share } près : { $level } { $unit } par seconde.
rate-scatter = Pas de tendance : la vitesse varie entre { $low } et { $high } { $unit } par seconde.
rate-two-speeds = Deux vitesses : { $count } itérations affichées sur { $total } vont à { $other_low }–{ $other_high } { $unit } par seconde, les autres à { $low }–{ $high } : { $factor } fois plus { $pace ->
    [faster] vite
   *[slower] lentement
}.
rate-along = La vitesse { $pace ->
    [faster] monte
   *[slower] baisse
} de { $before } à { $after } { $unit } par seconde dans ces lignes ({ $share }).
rate-along-times = La vitesse { $pace ->
    [faster] monte
   *[slower] baisse
} de { $before } à { $after } { $unit } par seconde dans ces lignes (facteur { $factor }).
rate-since = Environ { $share } plus { $pace ->
    [faster] vite
   *[slower] lentement
} depuis l’itération { $step } : { $before } { $unit } par seconde avant, { $after } ensuite.
rate-since-times = { $factor } fois plus { $pace ->
    [faster] vite
   *[slower] lentement
} depuis l’itération { $step } : { $before } { $unit } par seconde avant, { $after } ensuite.

## Où est passé le temps

section-time = Où est passé le temps
section-slow = Itérations lentes
section-finish = Quand ce sera fini
section-change = Que changer
section-alarms = Alarmes
section-normal = Itérations normales
section-log = Ce qui a été lu
time-table-phase = phase
time-table-time = temps
time-table-share = part
time-table-range = intervalle
time-table-basis = base
time-total = total

## Itérations lentes

slow-none = Aucune itération n’a été plus lente que ses voisines.
slow-none-alone = Aucune itération isolée ne se détache de ses voisines.
slow-column-step = itération
slow-column-took = durée
slow-column-why = composée de
slow-more = { $count ->
    [one] et une autre : { $causes }
   *[other] et { $count } autres : { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = évaluation
cause-checkpoint = checkpoint
cause-warmup = démarrage
cause-data = données
cause-gc = ramasse-miettes
cause-unexplained = inexpliqué
slow-unexplained = { $count ->
    [one] Une itération lente n’a aucune cause que ce log puisse montrer : { $duration } de plus qu’une normale.
   *[other] { $count } itérations lentes n’ont aucune cause que ce log puisse montrer : { $duration } de plus que des normales.
  }
slow-first-no-save = Rien n’est sauvegardé à l’itération 0 : ce qui y dépasse l’évaluation est du démarrage (compilation, premier accès), pas un checkpoint.
split-stamps = L’évaluation et le checkpoint sont distingués par les horodatages des lignes.
split-contrast = L’évaluation et le checkpoint sont distingués en comparant les évaluations avec et sans sauvegarde.
split-first-step = L’évaluation et le checkpoint sont distingués par la première évaluation, qui ne sauvegarde rien.
split-model = Ce log ne permet pas de séparer l’évaluation du checkpoint : chaque sauvegarde accompagne une évaluation. Le partage est calculé d’après le nombre de passes forward et le coût habituel d’une sauvegarde ; les intervalles disent de combien il peut s’écarter.
split-guess = Ce log ne permet pas de séparer l’évaluation du checkpoint : chaque sauvegarde accompagne une évaluation, et l’on ignore combien de batches une évaluation calcule (indiquez --set eval_iters=N). Le partage est conjecturé d’après le coût habituel d’une sauvegarde ; les intervalles disent de combien il peut s’écarter.
split-guess-plain = Ce log ne permet pas de séparer l’évaluation du checkpoint : chaque sauvegarde accompagne une évaluation. Le partage est conjecturé d’après le coût habituel d’une sauvegarde ; les intervalles disent de combien il peut s’écarter.
split-not-yet = Le coût d’une sauvegarde n’est pas encore mesurable : il faut environ { $needed } évaluations avec et sans sauvegarde, et le log en a { $count }.
split-settle = Pour trancher, horodatez les lignes : { $command }
stamps-unusable = Les horodatages des lignes contredisent les temps affichés (un tube à tampon par blocs ?) et ne sont pas utilisés. Lancez python avec -u.
arrivals-unused = L’arrivée enregistrée des lignes contredit les temps qu’elles affichent ; les temps affichés comptent.
evidence-marker = suit « { $line } »
evidence-markers = suit « { $line } » et « { $save } »
evidence-first = la première itération du processus : compilation et premier accès
evidence-unprinted = une itération où cet entraîneur évalue toujours ; sa ligne n’est pas dans le log
evidence-inside = mesuré de l’intérieur : { $parts }
evidence-none = aucune ligne ne dit pourquoi ; { $duration } de plus que ses voisines

## Quand ce sera fini

finish-left = encore { $duration } ({ $span } à { $confidence })
finish-at = fini à { $time } ({ $low } – { $high })
finish-from-flag = compté à partir de { $time }, comme indiqué
finish-from-stamp = compté à partir de { $time }, le dernier horodatage du journal
finish-from-stamp-plus = compté à partir de { $time }, le dernier horodatage, plus { $duration } d’itérations affichées ensuite
finish-from-no-year = { $text } ; l’année n’y figure pas, { $year } est supposée d’après la date du fichier
finish-from-no-day = { $text } ; la date n’y figure pas, le jour est supposé d’après la date du fichier
finish-from-nvidia-smi = compté à partir de { $time }, l’heure du tableau nvidia-smi
finish-from-mtime = compté à partir de { $time }, dernière écriture du fichier
finish-from-clock = compté à partir de maintenant, { $time }
finish-ended = L’exécution est terminée ; voici ce qu’il lui faudrait encore si elle reprenait maintenant à sa dernière itération.
finish-complete = L’exécution est complète : itération { $step } sur { $total }.
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
left-priced = { $what } : { $duration }
left-unpriced = { $what } : coût inconnu
left-line = Restent : { $items }.
finish-next-evaluation = Prochaine évaluation à l’itération { $step }.
rough-own = Il reste environ { $duration } d’après le chiffre de l’entraîneur lui-même ; ces lignes seules n’en permettent pas de meilleur.
rough-own-first = Il reste environ { $duration } d’après le chiffre du programme. Il repose sur la première et seule itération, qui comprend le démarrage : les suivantes sont le plus souvent plus rapides.
rate-and-time = { $rate } { $unit } par seconde et { $duration } par itération font { $count } { $unit } par itération.
skipped-few = { $count ->
    [one] Un pas de l’optimiseur a été sauté
   *[other] { $count } pas de l’optimiseur ont été sautés
} jusqu’ici.
finish-last-event = La dernière chose qu’il montre est de la phase « { $phase } » (ligne { $line }) ; aucune itération n’est affichée ensuite.
rough-bar = Il reste environ { $duration } de cette barre de progression, qui peut n’être que celle d’une époque parmi d’autres.
rough-few = Il reste environ { $duration } à cette vitesse{ $range } : une estimation faible, sur très peu de lignes.
rough-first = Il reste environ { $duration } si toutes les itérations durent autant que cette première et seule, démarrage compris{ $range } : une estimation faible.
finish-none = Pas d’heure de fin : { $reason }
finish-rate = Au rythme actuel de { $duration } par itération, 1 000 de plus prennent { $thousand }.
finish-rate-evaluations = Au rythme actuel de { $duration } par itération, 1 000 de plus prennent { $thousand }, { $count ->
        [one] évaluation comprise
       *[other] { $count } évaluations comprises
    }.
reason-no-steps = le log n’a encore aucune itération normale chronométrée. Redemandez après quelques lignes de plus.
reason-no-times = le log a des itérations, mais sans leurs temps : rien n’y dit combien de temps l’une d’elles a pris.
reason-no-total = le log ne dit pas combien d’itérations compte l’exécution. Indiquez --max-steps N, ou --config avec ses réglages.
reason-implausible-total = le total annoncé de { $total } itérations n’est pas plausible : au rythme actuel, il faudrait encore { $left }. Indiquez --max-steps N.
reason-too-few = { $count ->
    [one] une seule itération normale a été affichée ; il en faut trois pour un rythme. Redemandez après quelques lignes de plus.
   *[other] seules { $count } itérations normales ont été affichées ; il en faut trois pour un rythme. Redemandez après quelques lignes de plus.
  }
assume-level = Le reste avance au niveau actuel, { $duration } par itération.
assume-no-evaluations = Les évaluations ne sont pas comptées : leur fréquence est inconnue. Indiquez --set eval_interval=N.
assume-evaluations-unannounced = Les évaluations à venir sont estimées : leur fréquence est inconnue, mais aucune n'a eu lieu depuis la première itération. Indiquez --set eval_interval=N.
assume-evaluation-unpriced = Les évaluations ne sont pas comptées : aucune n’a encore été chronométrée, et le nombre de batches de chacune est inconnu. Indiquez --set eval_iters=N.
assume-evaluation-prior = Aucune évaluation n’a encore été chronométrée : son coût est calculé d’après le nombre de passes forward.
assume-save-prior = Aucune sauvegarde n’a encore été chronométrée : son coût est le coût habituel.
assume-evaluation-outside = L’horloge de ce log s’arrête pendant les évaluations et rien d’autre ne dit ce qu’elles coûtent : le temps restant est compté sur cette horloge, sans elles.
assume-saves = Une sauvegarde suit { $share } des évaluations, comme récemment.
assume-default-interval = Les évaluations sont supposées toutes les { $count } itérations, comme l’entraîneur est livré ; le log ne le dit pas encore. Indiquez --set eval_interval=N.
assume-default-total = Le nombre d’itérations, { $count }, est la valeur par défaut de l’entraîneur ; il n’est indiqué nulle part.

## Que changer

change-none = Rien qui vaille la peine : évaluer et sauvegarder coûtent { $share } du temps.
change-unknown = Pas de conseil : ce log ne montre pas ce que coûtent les évaluations.
change-scope-rest = Gain sur le reste de cette exécution ; les gains ne s’additionnent pas.
change-scope-run = Gain sur une exécution comme celle-ci ; les gains ne s’additionnent pas.
change-line = { $change } : gagne { $duration } ({ $span })
advice-a101-costs = Le loss de validation se voit { $factor } fois moins souvent ; si l’on ne sauvegarde qu’après une évaluation, un plantage perd jusqu’à { $steps } itérations ({ $duration }).
advice-a101-evidence = { $count } évaluations de { $duration } font { $share } du temps. Un intervalle plus grand en fait moins.
advice-a102-costs = L’erreur type du loss de validation passe de { $before } à { $after }.
advice-a102-costs-unknown = L’erreur type du loss de validation est multipliée par { $factor } ; ce log a trop peu de valeurs de loss pour dire à partir de combien.
advice-a102-evidence = Chaque évaluation calcule { $count } batches de { $splits ->
    [one] un jeu
   *[other] { $splits } jeux
  } ; le coût croît avec leur nombre, la précision avec sa racine carrée.
advice-a103-costs = Le loss d’entraînement de l’évaluation n’est plus affiché ; la moyenne des lignes d’itération dit la même chose. Il faut modifier estimate_loss dans train.py.
advice-a103-evidence = La moitié de chaque évaluation mesure le jeu d’entraînement, dont les lignes d’itération affichent déjà le loss.
advice-a104-costs = Après un plantage, l’exécution reprend au meilleur checkpoint, pas au dernier.
advice-a104-evidence = Sauvegarder fait { $share } du temps ; parmi les dernières évaluations, { $improving } ont amélioré la meilleure d’avant.

## Alarmes

alarm-nan = { $count ->
    [one] Le loss est NaN ou infini à partir de l’itération { $step } (une fois dans le log). La suite s’entraîne dans le vide.
   *[other] Le loss est NaN ou infini à partir de l’itération { $step } ({ $count } fois dans le log). La suite s’entraîne dans le vide.
  }
alarm-oom = Mémoire épuisée : { $text }
alarm-crash = Traceback ou signal fatal : { $text }
alarm-interrupted = L’exécution a été interrompue : { $text }
alarm-ended-early = L’exécution s’est arrêtée avant la fin, après l’itération { $step } sur { $total }.
alarm-ended-early-unknown = L’exécution s’est arrêtée après l’itération { $step } ; le log ne dit pas combien étaient prévues.
alarm-ended-before-steps = L’exécution s’est arrêtée avant la fin de sa première itération.
alarm-restarted = { $count ->
    [0] L’exécution a redémarré après l’itération { $before }, à { $step }.
    [one] L’exécution a redémarré après l’itération { $before }, à { $step } : une itération ({ $lost }) a été faite deux fois.
   *[other] L’exécution a redémarré après l’itération { $before }, à { $step } : { $count } itérations ({ $lost }) ont été faites deux fois.
  }
alarm-slowdown = Les itérations sont plus lentes de { $share } depuis l’itération { $step } : { $before } avant, { $after } maintenant.
alarm-contradiction = { $setting } est indiqué à { $stated }, mais le log montre { $seen } ; c’est le log qui est cru.
alarm-contradiction-mfu = { $setting } est indiqué à { $stated }, mais le mfu et les temps imprimés correspondent à { $seen } : vérifiez la configuration, ou si cette copie de l’entraîneur rapporte son mfu à la puissance d’une autre carte.
state-total = l’itération { $step } sur { $total } est la dernière
state-words = le log dit : { $text }
state-last-printed = l’itération { $step } est la dernière affichée sur { $total }, et ce qui suit la dernière est fait
state-after-stop = le log s’arrête juste après une évaluation ou un checkpoint, qui y sont rares ; rien n’indique qu’il restait à faire
state-silent = le log s’arrête sans un mot, et rien n’indique quand il a été écrit
state-last-written = le log s’arrête sans un mot ; sa dernière écriture date de { $at }, alors que { $usual } entre deux lignes est habituel
reason-over-state-total = l’exécution est complète : itération { $step } sur { $total }.
reason-over-state-words = l’exécution est terminée. Le log dit : { $text }
reason-over-state-last-printed = le run est terminé : l’itération { $step } est la dernière affichée sur { $total }.
state-exit = la commande s’est terminée avec le code de sortie { $code }
state-signal = la commande a été terminée par { $name } (code de sortie { $code })
reason-over-state-exit = l’exécution est terminée : la commande a renvoyé le code de sortie { $code }.
reason-over-state-signal = l’exécution est terminée : la commande a été terminée par { $name } (code de sortie { $code }).
alarm-crash-code = Traceback ou signal fatal : { $text } (code de sortie { $code })
alarm-exit-code = La commande a échoué avec le code de sortie { $code } ; sa sortie ne dit pas pourquoi.
alarm-signal = La commande a été terminée par { $name } (code de sortie { $code }).
alarm-killed = La commande a été tuée par { $name } (code de sortie { $code }), souvent faute de mémoire ; dmesg le dit dans ce cas.
alarm-walltime = Le job se termine à { $time } ; l’exécution sera finie avec une probabilité de { $share } (l’itération { $step } sur { $total } est la dernière qui peut être sauvegardée à temps).
alarm-save-now = Sauvegardez maintenant : le job se termine à { $time } et l’itération { $step } est la dernière qui peut être sauvegardée à temps.
alarm-nan-passed = { $count ->
    [one] Une perte n’est pas un nombre, à l’itération { $step } ; à partir de l’itération { $later } les pertes sont de nouveau finies.
   *[other] { $count } pertes ne sont pas des nombres, la première à l’itération { $step } ; à partir de l’itération { $later } elles sont de nouveau finies.
}
alarm-nan-unread = { $count } lignes affichent une perte qui n’est pas un nombre ; la première est la ligne { $line }.
alarm-skipped-steps = { $count } pas d’optimiseur sur { $total } ({ $share }) ont été sautés : leurs gradients n’étaient pas finis, aucun poids n’a donc changé.
alarm-skipped-since = Depuis l’itération { $step }, chaque pas d’optimiseur a été sauté, jusqu’à l’itération { $last } : plus aucun poids ne change.
alarm-memory-pressure = { $count } lignes disent que la mémoire de la carte est si pleine que PyTorch vide son cache, ce qui ralentit les itérations : { $text }
alarm-line = ligne { $line }

## Ce qui a été lu

read-unread = { $unread ->
    [one] Une ligne sur { $lines } n’a pas été comprise, la { $line } : { $text }
   *[other] { $unread } lignes sur { $lines } n’ont pas été comprises, la première est la { $line } : { $text }
  }
read-all = Les { $lines } lignes ont toutes été comprises.

## Notes

note-title = { $count ->
    [one] Pourquoi l’itération { $steps } était lente
   *[other] Pourquoi les itérations { $steps } étaient lentes
  }
note-title-many = Pourquoi { $count } itérations étaient lentes
note-title-none = Où est passé le temps d’un entraînement
note-title-eta = Durée d’entraînement estimée : { $duration }
note-title-eta-none = Durée d’entraînement estimée : encore inconnue
note-intro = { $count ->
    [one] Une itération lente a été trouvée dans { $lines } lignes de log.
   *[other] { $count } itérations lentes ont été trouvées dans { $lines } lignes de log.
  }
note-intro-none = Aucune itération lente n’a été trouvée dans { $lines } lignes de log.
note-explained = { $count ->
    [one] Ce n’est pas une étape d’entraînement lente : l’horloge de l’entraîneur va de la fin d’une itération à la fin de la suivante, si bien qu’une évaluation, un checkpoint ou une compilation entre les deux est compté avec l’itération qui suit.
   *[other] Ce ne sont pas des étapes d’entraînement lentes : l’horloge de l’entraîneur va de la fin d’une itération à la fin de la suivante, si bien qu’une évaluation, un checkpoint ou une compilation entre les deux est compté avec l’itération qui suit.
  }
note-slow-lines = Voici ce que montre le log autour d’elles :
note-list-and = { $first } et { $last }
section-progress = Progression
section-evaluations = Évaluations restantes
section-estimate = Estimation du temps
note-progress-done = { $step } itérations sur { $total } sont faites.
note-progress-left = Itérations restantes : { $count }.
note-evaluation-every = Une évaluation a lieu toutes les { $every } itérations et prend { $duration } ({ $span }).
note-evaluation-next = La prochaine est à l’itération { $next }, puis { $after } …, la dernière à { $last }.
note-evaluation-left = Évaluations restantes : { $count }.
note-evaluation-unknown = On ignore à quelle fréquence l’exécution évalue.
note-total = Temps total restant : { $duration }.
note-interval = Intervalle : { $span }, à { $confidence }.
note-hardware-assumed = D’après nvidia-smi : { $details }.
note-assumptions = On suppose :

## Commandes

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = Son chiffre de temps couvre : { $covers } ; y sont inclus : { $includes }.
formats-lines = Lignes qu’il connaît :
formats-try-none = Aucun format du catalogue ne reconnaît ce fichier.
formats-try-claimed = { $name } : { $count } lignes reconnues sur { $lines }, dont { $steps } avec une itération
demo-intro = Le cas de référence : nanoGPT sur une RTX 4070, interrogé à 02:30. La même chose à la main : { $command }
written = écrit : { $path }
error-title = erreur
error-try = essayez

## Erreurs

error-no-such-file = aucun fichier de ce nom
    .hint = { $nearby ->
        [none] vérifiez le chemin ; un dossier, - pour l’entrée standard, et les fichiers .gz, .xz, .zst conviennent aussi
       *[other] vouliez-vous dire { $nearby } ?
      }
error-unreadable = illisible : { $reason }
    .hint = vérifiez ses droits : ls -l { $place }
error-folder-without-log = aucun log d’entraînement dans ce dossier
    .hint = nommez le fichier lui-même : stepscope { $place }/train.log
error-empty = le fichier est vide
    .hint = la sortie de l’entraîneur passe-t-elle par un tampon ? Lancez python avec -u et redemandez quand il aura affiché quelque chose
error-binary = ce n’est pas un fichier texte
    .hint = indiquez ce que l’entraîneur a affiché, par exemple : python -u train.py | tee train.log
error-broken-archive = un fichier compressé impossible à ouvrir : { $reason }
    .hint = décompressez à la main ce qui en reste : zcat { $place } | stepscope -
error-broken-database = une base de données illisible : { $reason }
    .hint = récupérez ce qui reste avec sqlite3 { $place } .recover, ou exportez les métriques en CSV
error-no-metrics-table = une base de données sans table metrics : ce n’est pas celle de MLflow
    .hint = indiquez le journal de l’entraînement, ou exportez ses métriques en CSV ou en lignes JSON
error-not-a-training-log = aucun format ne reconnaît ce fichier, et sa structure n’est pas celle d’un journal d’entraînement
    .hint = stepscope formats try { $path } --suggest     montre jusqu’où va chaque format et comment en enseigner un nouveau
error-no-format-fits = aucun format ne reconnaît ce fichier ; des lignes comme celle-ci sont peut-être des itérations, mais impossible de savoir lequel de leurs nombres est l’étape ou le temps
    .hint = stepscope formats try { $path } --suggest     montre jusqu’où va chaque format et comment en enseigner un nouveau
error-no-such-config = aucun fichier de configuration de ce nom
    .hint = --config attend le fichier avec lequel l’exécution a été lancée, par exemple config/train_gpt2.py
error-config-is-folder = la configuration est un dossier
    .hint = nommez le fichier lui-même
error-config-too-large = trop gros pour un fichier de configuration
    .hint = est-ce le log ? stepscope { $place }
error-config-not-text = la configuration n’est pas un fichier texte
    .hint = --config attend le config.py de nanoGPT, du JSON ou du TOML
error-config-syntax = la configuration ne se laisse pas lire : { $reason }
    .hint = corrigez-la, ou indiquez ce qui compte : --set max_iters=20000 --set eval_interval=500
error-config-too-deep = la configuration compte plus de { $limit } niveaux d’imbrication
    .hint = indiquez seulement ce qui compte : --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = la configuration contient plus de { $limit } valeurs une fois ses alias développés
    .hint = indiquez seulement ce qui compte : --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = ce n’est pas un tableau de nvidia-smi
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = plus de { $size } sont arrivés par ce tube
    .hint = enregistrer une seule lecture : nvidia-smi > smi.txt
error-bad-setting = --set attend clé=valeur
    .hint = par exemple : --set eval_interval=500
error-unknown-setting = aucun réglage de ce nom
    .hint = { $nearest ->
        [none] il y a : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-bad-count = { $setting } est un nombre entier, au moins 1
    .hint = par exemple : --set { $setting }=500
error-bad-max-steps = --max-steps attend un nombre entier, au moins 1
    .hint = par exemple : --max-steps 20000
error-bad-moment = ce n’est pas un moment : { $text }
    .hint = par exemple : --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence se situe entre 0.5 et 0.99
    .hint = par exemple : --confidence 0.9
error-bad-language = aucune langue de ce nom : { $text }
    .hint = { $nearest ->
        [none] il y a : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-bad-choice = { $flag } ne peut pas être { $text }
    .hint = { $nearest ->
        [none] il y a : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-no-such-command = aucune commande de ce nom
    .hint = { $nearest ->
        [none] il y a : { $known }
       *[other] vouliez-vous dire { $nearest } ?
      }
error-unknown-flag = option inconnue : { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     montre ce qu’il y a
       *[other] vouliez-vous dire { $nearest } ?
      }
error-unknown-command = ni une commande ni un fichier
    .hint = vouliez-vous dire : stepscope { $nearest }
error-too-many-arguments = trop d’arguments pour { $command }
    .hint = { $command } --help     montre ce qu’il y a
error-wrong-usage = { $reason }
    .hint = { $command } --help     montre ce qu’il y a
error-missing-argument = il manque un argument : { $missing }
    .hint = { $command } --help     montre ce qu’il y a
error-missing-value = { $flag } demande une valeur
    .hint = { $command } --help     montre ce qu’il y a
error-languages-need-folder = plusieurs langues font plusieurs fichiers
    .hint = nommez un dossier pour elles : -o notes/
error-no-such-format = aucun format de ce nom
    .hint = { $nearest ->
        [none] stepscope formats     les énumère
       *[other] vouliez-vous dire { $nearest } ?
      }
error-no-such-code = aucune page pour ce code
    .hint = il y a : { $known }
error-cannot-write = impossible d’écrire : { $reason }
    .hint = indiquez un autre endroit avec -o
error-unread-lines = { $count ->
    [one] une ligne n’a pas été comprise (--strict)
   *[other] { $count } lignes n’ont pas été comprises (--strict)
  }
    .hint = stepscope formats try { $path }     les montre

## Un plan avant l’exécution

plan-model = { $parameters } paramètres : { $layers } couches × { $hidden }, contexte { $context }, vocabulaire { $vocabulary }
plan-training = { $steps } itérations de { $tokens } tokens (batch_size { $batch } × gradient_accumulation_steps { $accumulation } × { $context }) ; { $flops } GFLOP par token.
plan-memory = Mémoire avec batch_size { $batch } : { $parts }.
plan-memory-weights = poids
plan-memory-gradients = gradients
plan-memory-optimizer = optimiseur
plan-memory-activations = activations
plan-memory-logits = logits
plan-memory-context = contexte CUDA
plan-row-memory = mémoire (GiB)
plan-row-largest = batch_size maximal
plan-row-step = itération
plan-row-band = … bande à 90 %
plan-row-tokens = tokens par seconde
plan-row-utilisation = MFU de cette carte
plan-row-evaluation = une évaluation
plan-row-checkpoint = un checkpoint
plan-row-total = toute l’exécution
plan-row-finish = fin à
plan-row-energy = énergie
plan-row-cost = coût
plan-fits = { $used } sur { $total }
plan-fits-barely = { $used } sur { $total }, juste
plan-fits-not = { $used } sur { $total }, trop
plan-fits-nothing = { $gpu } : pas même une séquence ne tient dans sa mémoire. Prenez un modèle ou un contexte plus petit.
plan-calibrating = mesure de cette machine …
plan-note-calibrated = Mesuré ici ({ $gpu }) : { $tflops } TFLOPS, mémoire { $bandwidth } GB/s, disque { $disk } MB/s.
plan-note-defaults = Non indiqué, donc les valeurs par défaut du programme : { $names }.
plan-note-derived = La taille du modèle n’est pas indiquée. { $duration } pour { $tokens } tokens sur { $gpu } correspondent à { $low } à { $high } de paramètres ; le tableau en prend une entre les deux. Pour en être sûr, indiquez-la : --params, ou n_layer et n_embd dans la configuration.
plan-note-derived-memory = La taille du modèle n’est pas indiquée. { $duration } pour { $tokens } tokens sur { $gpu } et la mémoire utilisée correspondent à { $low } à { $high } de paramètres ; le tableau en prend une entre les deux. Pour en être sûr, indiquez-la : --params, ou n_layer et n_embd dans la configuration.
error-unknown-card = aucune carte de ce nom
    .hint = par exemple : { $known }
error-plan-needs-card = quelle carte ?
    .hint = nommez-la : --gpu 4070, ou plusieurs : --gpu 4070,4080,4090 ; ou mesurez cette machine : --calibrate
error-plan-needs-model = quel modèle ?
    .hint = --config config/train_gpt2.py, ou --params 124M, ou --layers 12 --hidden 768
error-plan-shape-missing = il manque à la configuration ce qui fait la taille d’un modèle : { $names }
    .hint = ajoutez-le avec --set, ou indiquez la taille : --params 7B
error-plan-bad-shape = aucun modèle n’a une telle forme
    .hint = par exemple : --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = pas un nombre de paramètres
    .hint = par exemple : --params 124M
error-bad-devices = --devices est un nombre entier d’au moins 1
    .hint = par exemple : --devices 8
error-bad-price = pas un prix
    .hint = par exemple : --price 0.40/h ou --price 0.30/kWh
error-plan-from-needs-card = quelle carte a écrit ce journal ?
    .hint = --from-gpu 4070, ou un tableau enregistré : --nvidia-smi nvidia-smi.txt
error-plan-needs-context = combien de tokens compte une séquence ? Le journal ne le dit pas
    .hint = par exemple : --context 1024
error-plan-log-untimed = ce journal ne contient aucune itération normale avec un temps pour calibrer
    .hint = planifiez sans lui, ou redemandez quand il aura quelques lignes de plus
error-plan-not-derived = aucun modèle de forme courante ne prend autant de temps sur cette carte : la carte et le lot sont-ils justes ?
    .hint = indiquez le modèle : --params 124M
## Several trainings, several writers
alarm-trainings = Le log contient { $count } entraînements à la suite. Cette réponse concerne le dernier, à partir de la ligne { $line } ; les secondes des autres sont dans le décompte.
alarm-writers = { $count ->
    [one] Deux processus écrivent dans ce log. Une itération de l’autre n’est pas comptée.
   *[other] Deux processus écrivent dans ce log. { $count } itérations de l’autre ne sont pas comptées.
  }
alarm-straggler = Le rang { $rank } est plus lent que les autres de { $share } : { $own } par itération au lieu de { $others }. Tous les rangs l’attendent.
alarm-straggler-host = Le rang { $rank } sur { $host } est plus lent que les autres de { $share } : { $own } par itération au lieu de { $others }. Tous les rangs l’attendent.

## D’autres conseils, et ce que ferait un changement

advice-a102-costs-seen = L’erreur type du loss de validation passe de { $before } à { $after } ; le loss baisse encore de { $gain } par évaluation, ce qui reste visible.
advice-a102-costs-unseen = L’erreur type du loss de validation passe de { $before } à { $after } ; le loss baisse de { $gain } par évaluation, ce qu’une seule évaluation ne montre alors plus.
advice-a105-costs = La courbe est plus lisse, mais son niveau est décalé d’une constante d’environ { $offset } : mesurez une fois avec beaucoup de batches à la fin. Il faut modifier l’évaluation : la même graine pour ses batches à chaque fois.
advice-a105-costs-unknown = La courbe est plus lisse, mais son niveau a un décalage constant : mesurez une fois avec beaucoup de batches à la fin. Il faut modifier l’évaluation : la même graine pour ses batches à chaque fois.
advice-a105-evidence = Chaque évaluation tire { $count } nouveaux batches. Sur les mêmes batches à chaque fois, les différences sont 4 à 7,6 fois moins bruitées au même coût : { $fewer } montrent alors la tendance.
advice-a107-costs = Seulement une modification : chaque rang évalue sa part des mêmes batches et les losses sont moyennés.
advice-a107-evidence = Un rang sur { $count } évalue pendant que les autres attendent.
advice-a108-costs = Un plantage perd jusqu’à { $duration } de travail.
advice-a108-evidence = Une sauvegarde arrête l’entraînement { $duration } ; avec un plantage toutes les { $between }, la règle de Daly donne { $best } comme meilleur intervalle.
advice-a109-costs = De la mémoire hôte pour une copie de l’état, et des itérations un peu plus lentes pendant l’écriture.
advice-a109-evidence = L’entraînement s’arrête pour des sauvegardes pendant { $share } du temps.
advice-a111-costs = La mémoire retenue par des cycles n’est libérée que si on la ramasse à la main, toutes les quelques milliers d’itérations.
advice-a111-evidence = Le ramasse-miettes coûte { $share } du temps.
advice-a112-costs = De la mémoire hôte et du temps processeur pour les chargeurs.
advice-a112-evidence = L’attente des données coûte { $share } du temps.
advice-a113-costs = Les mêmes tokens par itération : batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Seul l’arrondi de la somme change. Si la mémoire manque, revenez en arrière.
advice-a113-evidence = Seulement { $share } de la mémoire de la carte sont utilisés.
advice-a114-costs = float16 demande une mise à l’échelle du loss, que nanoGPT, Hugging Face et Lightning font eux-mêmes ; les losses diffèrent légèrement.
advice-a114-evidence = { $gpu } n’a pas de bfloat16 matériel : il est émulé à environ un dixième de la vitesse.
advise-paste = tapez : { $paste }
advise-keeps = Ne change pas ce qui est appris.
advise-changes = Change ce qui est appris.
section-whatif = Ce que cela changerait
whatif-change = { $setting } : { $now } → { $then }
whatif-saves = Gain de { $duration } ({ $span }).
whatif-costs = Coûte { $duration } de plus ({ $span }).
whatif-same = Ne change rien au temps.
whatif-left = Reste { $duration } au lieu de { $before } ({ $span } à { $confidence })
whatif-run = Une exécution comme celle-ci prend { $duration } au lieu de { $before }.
whatif-precision = L’erreur type du loss de validation passe de { $before } à { $after }.
whatif-unknown = Ce log ne peut pas dire ce que { $names } ferait au temps.
error-bad-change = --change attend clé=valeur
    .hint = par exemple : --change eval_interval=1000
error-bad-change-value = { $setting } est un nombre entier d’au moins 1
    .hint = par exemple : --change { $setting }=500

## La carte

card-mfu = { $gpu } : { $share } de ses { $peak } TFLOPS (MFU par rapport au maximum de cette carte).
card-normal = C’est normal pour elle : un modèle de cette taille devrait prendre { $span }.
card-slow = C’est lent pour elle : un modèle de cette taille devrait prendre { $span }.
card-fast = C’est plus rapide que prévu : un modèle de cette taille devrait prendre { $span }.
alarm-hang = Un rang ne répond plus et les autres ont abandonné : { $text }
alarm-false-done = La ligne { $line } dit que l’entraînement est terminé, mais la dernière itération est { $step } sur { $total }.
alarm-false-done-empty = { $count ->
    [one] La ligne { $line } dit que l’entraînement est terminé, mais ce lancement a planté avant sa première itération.
   *[other] La ligne { $line } et en tout { $count } lignes semblables disent que l’entraînement est terminé, mais ces lancements ont planté avant leur première itération.
  }

## L’entraîneur

train-loading = Démarrage de PyTorch et préparation des données …
train-progress = itération { $iteration } sur { $last }, reste { $left }
train-doing-evaluation = itération { $iteration } sur { $last } : évaluation …
train-doing-checkpoint = itération { $iteration } sur { $last } : copie du checkpoint …
train-doing-compile = compilation …
train-doing-sampling = { $last } itérations faites : écriture d’un échantillon …
train-doing-waiting = attente de l’écriture du dernier checkpoint sur le disque …
train-opening-what = Un petit GPT ({ $layers } couches, largeur { $width }) apprend Python avec les sources de la bibliothèque standard : { $iterations } itérations sur { $device }, quelques minutes.
train-opening-when = Toutes les { $interval } itérations, il est évalué et enregistré dans { $folder } ; Ctrl-C l’enregistre et affiche la commande pour continuer.
train-opening-end = À la fin : ce qu’il écrit alors, et où est passé le temps.
train-sample-before = Ce qu’il écrivait avant d’avoir appris quoi que ce soit :
train-sample = Ce qu’il écrit après { $iteration } itérations :
train-ledger = Où sont passées { $wall } ({ $iterations } itérations) :
train-phase-data = lecture des données
train-phase-forward = passe avant (forward)
train-phase-backward = passe arrière (backward)
train-phase-optimizer = optimiseur
train-phase-device = attente du périphérique
train-phase-evaluation_train = évaluation, partie d’entraînement
train-phase-evaluation_val = évaluation, partie de validation
train-phase-checkpoint_staging = checkpoint : copie à part
train-phase-checkpoint_waiting = checkpoint : attente de l’écriture
train-phase-logging = journal
train-phase-gc = ramasse-miettes
train-phase-compile = compilation
train-phase-startup = démarrage
train-phase-sampling = génération de texte
train-phase-other = autres
train-saves = { $count ->
    [one] Un checkpoint de { $size } Mo, écrit en { $written } en arrière-plan ; l’entraînement s’est arrêté { $stalled } : { $saved } gagnées par rapport à l’attente du disque.
   *[other] { $count } checkpoints de { $size } Mo chacun, écrits en { $written } en arrière-plan ; l’entraînement s’est arrêté { $stalled } : { $saved } gagnées par rapport à l’attente du disque.
  }
train-interference = Les itérations pendant l’écriture ont pris { $ratio } fois le temps des autres.
train-more = Checkpoint et journaux : { $folder }. Ensuite : stepscope sample --out_dir={ $folder }, ou stepscope { $folder }
train-stopped = { $signal } : arrêté avant l’itération { $iteration } et enregistré. Pour continuer : { $command }
train-no-wandb = wandb_log est activé, mais wandb n’est pas installé (pip install wandb). L’entraînement continue ; ses chiffres sont dans steps.jsonl, dans le dossier de l’exécution.
train-no-tensorboard = tensorboard est activé, mais TensorBoard n’est pas installé (pip install tensorboard). L’entraînement continue ; ses chiffres sont dans steps.jsonl, dans le dossier de l’exécution.
train-no-tracker = { $name } n’a pas pu démarrer ({ $reason }). L’entraînement continue sans lui.
train-kept = Les journaux et le meilleur checkpoint de l’exécution précédente de ce dossier sont dans { $folder }.
train-unknown-setting = { $setting } dans { $path } n’est pas un réglage de cet entraîneur et reste sans effet.
train-bf16-crashes = bfloat16 plante sur ce processeur (essayé dans un processus fils) : entraînement en float32.
train-bf16-slower = bfloat16 prend { $ratio } fois le temps de float32 sur ce processeur (essayé dans un processus fils) : entraînement en float32.
train-cuda-only = { $dtype } est réservé à CUDA : entraînement en float32 sur { $device }.
train-staging = Les checkpoints gardent une copie de { $size } Go en mémoire centrale pour que l’entraînement n’attende pas le disque (--staging=False attend et n’en garde aucune).
train-staging-tight = Les checkpoints gardent une copie de { $size } Go en mémoire centrale et il reste { $left } Go : --staging=False n’en garde aucune, et l’entraînement attend le disque.
train-broken-checkpoint = Checkpoint incomplet, essai du précédent : { $path } ({ $reason }).
train-from-checkpoint = { $setting } vaut { $value } dans le checkpoint, et c’est ce qui compte ; { $asked } était demandé.
train-other-batches = Les lots ne sont pas ceux du checkpoint (autres tailles, évaluation ou nombre de processus) : l’ordre des données repart de zéro.
train-save-failed = ALARME : le checkpoint de l’itération { $iteration } n’a pas été écrit : { $reason }. L’entraînement continue ; le checkpoint précédent est intact.
data-ready = { $folder } : { $train } jetons pour l’entraînement, { $val } pour la validation
data-use = Pour l’utiliser : { $command }
data-download = Téléchargement de { $url } …
train-shard-alone = shard est sans effet avec un seul processus : torchrun en lance plusieurs.
selftest-begins = Essai de { $count } parties de l’entraîneur sur { $device } :
selftest-pass = ok
selftest-fail = ÉCHEC
selftest-ends = { $failed ->
    [0] Toutes les parties fonctionnent.
    [one] { $failed } partie sur { $count } a échoué.
   *[other] { $failed } parties sur { $count } ont échoué.
}
selftest-precision = loss { $loss } en { $dtype }, { $other } en float32
selftest-compile = loss { $loss } compilé, { $other } sans compilation
selftest-memory = une évaluation de { $sequences } séquences demande { $evaluation } Mo, un pas d’entraînement { $step } Mo
selftest-clock = { $steps } itérations totalisent { $counted } s, la boucle a duré { $loop } s
selftest-checkpoint = { $differing } tenseurs diffèrent du moment de la sauvegarde ; plus longue attente { $stall } s
selftest-resume = { $differing } loss ou tenseurs diffèrent de l’exécution sans interruption, sur { $steps } loss et { $tensors } tenseurs
selftest-sample = { $tokens } tokens, les mêmes deux fois
selftest-muon = valeurs singulières d’une mise à jour de { $least } à { $most } en { $dtype }
selftest-processes = deux processus par { $backend } : les loss diffèrent de ceux d’un processus de { $worst }
selftest-shard = deux processus avec des tranches par { $backend } : les loss diffèrent de ceux d’un processus de { $worst }
export-done = { $path } : { $size } Mo, avant l’itération { $iteration }
error-train-no-slices = pas de checkpoint en morceaux ici
    .hint = celui qu’écrit train --shard=True est un dossier de ce nom ; ckpt.pt n’a pas besoin d’être exporté
error-train-no-torch = l’entraînement a besoin de PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } attend une valeur de type { $wanted }
    .hint = par exemple : --{ $setting }=… avec un { $wanted }, comme dans nanoGPT
error-train-choice = cette valeur de { $setting } n’existe pas
    .hint = il y a : { $known }
error-train-range = { $setting } est hors limites
    .hint = minimum { $least } ; dropout, beta1 et beta2 sont inférieurs à 1
error-train-heads = n_embd doit être un multiple de n_head
    .hint = par exemple : --n_embd=384 --n_head=6
error-train-odd-head = les positions rotatives demandent des têtes de largeur paire (n_embd / n_head)
    .hint = par exemple : --n_embd=384 --n_head=6, ou --recipe=nanogpt
error-train-gpt2-recipe = les poids de GPT-2 ne vont qu’au réseau de GPT-2
    .hint = --recipe=nanogpt
error-train-unknown-character = le corpus ne contient pas { $character }
    .hint = commencez par des caractères que le réseau a vus
error-train-not-saved = l’entraînement est terminé, mais son dernier checkpoint (itération { $iteration }) n’a pas été écrit : { $reason }
    .hint = { $saved ->
        [0] il n’y a aucun checkpoint : libérer de la place, puis relancer l’entraînement
       *[other] le checkpoint complet le plus récent est celui de l’itération { $saved } : libérer de la place, puis reprendre avec --init_from=resume
      }
error-train-bad-meta = meta.pkl n’est pas un fichier de nanoGPT : { $reason }
    .hint = refaites-le : stepscope data prepare FILE
error-train-no-data = pas de données de ce nom
    .hint = créez-les avec stepscope data prepare FILE --out data/{ $name }, ou indiquez un dossier avec train.bin et val.bin : --dataset=DIR
error-train-short-data = { $tokens } jetons ne suffisent pas pour des séquences de { $block_size }, ou le fichier ne contient pas de jetons de 16 bits
    .hint = prenez plus de texte ou un --block_size plus petit
error-train-unreadable = illisible : { $reason }
    .hint = vérifiez le nom et les droits
error-train-vocabulary = le jeton { $token } n’entre pas dans un vocabulaire de { $vocab_size }
    .hint = les données ne sont pas celles de ce checkpoint ou de meta.pkl : indiquez le bon --dataset, ou repartez avec --init_from=scratch
error-train-no-tiktoken = les paires d’octets de GPT-2 ont besoin de tiktoken
    .hint = { $install }, ou --tokens char
error-train-tiktoken-download = tiktoken n’a pas pu télécharger les tables de GPT-2 ({ $reason })
    .hint = copiez-les depuis une machine qui les a et définissez TIKTOKEN_CACHE_DIR, ou --tokens char
error-train-no-stdlib = ce Python n’a pas les sources de sa bibliothèque standard
    .hint = préparez votre propre texte : stepscope data prepare FILE
error-train-no-safetensors = les poids de GPT-2 ont besoin de safetensors
    .hint = { $install }
error-train-bad-gpt2 = pas un dossier de poids de GPT-2 : { $reason }
    .hint = il contient config.json et model.safetensors tels que publiés par Hugging Face
error-train-no-gpt2 = pas de poids de { $name } ici, et rien n’est téléchargé
    .hint = hf download openai-community/{ $name } --local-dir { $name }, puis --gpt2_folder={ $name }
error-train-no-checkpoint = pas de checkpoint d’où partir
    .hint = indiquez son dossier avec --out_dir, ou commencez avec --init_from=scratch
error-train-no-whole-checkpoint = aucun checkpoint complet : { $reason }
    .hint = commencez avec --init_from=scratch, ou copiez-y un fichier complet
error-train-bad-checkpoint = le checkpoint ne convient pas : { $reason }
    .hint = il doit venir de cet entraîneur ou du train.py de nanoGPT
error-train-block-size = le réseau chargé lit au plus { $block_size } jetons
    .hint = --block_size={ $block_size } ou moins
error-train-accumulation = { $processes } processus ne peuvent pas se partager également ce nombre de micro-lots
    .hint = choisissez gradient_accumulation_steps multiple de { $processes }
error-train-memory = mémoire insuffisante
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } entraîne sur les mêmes jetons avec moins de mémoire ; ou réduisez block_size, n_layer ou n_embd
error-train-rank-lost = un autre processus de l’entraînement a disparu : { $reason }
    .hint = voyez ce qu’il a dit, puis relancez-les tous avec --init_from=resume
error-selftest-alone = --selftest n’accepte aucun réglage sauf --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile a échoué : { $reason }
    .hint = --compile=False entraîne sans lui
error-train-nan = la perte vaut { $value } à l’itération { $iteration } : arrêt
    .hint = essayez un learning_rate plus bas ou un warmup_iters plus long ; ckpt.pt, s’il existe, date d’avant et est bon : --init_from=resume
error-sample-no-meta = les caractères de ce réseau sont dans meta.pkl de son dossier de données, qui n’est pas ici
    .hint = lancez-la là où l’entraînement a eu lieu : dans le dossier qui contient data/{ $name }
error-train-locked = un autre entraîneur utilise ce dossier (processus { $process })
    .hint = donnez à chaque exécution son propre dossier : --out_dir=DIR
error-train-misspelt = il n’y a pas de réglage { $setting }
    .hint = { $meant } existe
error-train-out-dir = impossible d’y écrire : { $reason }
    .hint = indiquez un autre dossier
error-train-device = ce périphérique n’existe pas
    .hint = --device=cpu, cuda, cuda:1 ou mps
error-train-no-device = PyTorch ne trouve pas de périphérique { $name } ici
    .hint = --device=cpu --compile=False
error-train-config-expression = { $setting } ne se saurait qu’en exécutant le fichier ; les configs sont lues, pas exécutées
    .hint = écrivez la valeur elle-même, ou retirez la ligne et donnez-la en option : --{ $setting }=…
error-data-too-many-characters = { $count } caractères différents, c’est trop pour des jetons de 16 bits
    .hint = --tokens gpt2
error-data-empty = aucun texte dedans
    .hint = indiquez un fichier avec du texte ; un fichier .jsonl a un document par ligne sous "text"
error-data-not-text = pas un texte en UTF-8
    .hint = convertissez-le d’abord, par exemple avec iconv
error-data-bad-record = pas un enregistrement JSON avec "text"
    .hint = un document par ligne, avec la clé text
error-data-no-download = le téléchargement a échoué : { $reason }
    .hint = obtenez le fichier autrement et indiquez-le : stepscope data prepare shakespeare input.txt
error-data-openwebtext = OpenWebText pèse 54 Go et n’est pas téléchargé ici
    .hint = exportez-le en .jsonl avec un "text" par ligne et indiquez les fichiers : stepscope data prepare openwebtext part-*.jsonl

## En direct

live-now = maintenant
live-left = fin
live-steps = pas
live-time = temps
live-loss = loss
live-waiting = attend les premières lignes ({ $duration })
live-warmup = démarrage : compilation, premier contact ({ $duration }) ; pas encore de prévision
live-training = entraîne, dernière ligne il y a { $duration }
live-evaluation = évalue depuis { $duration }
live-checkpoint = sauvegarde depuis { $duration }
live-stalled = aucune ligne depuis { $duration } : bloqué ?
live-closing = toutes les itérations sont faites ; le processus tourne encore
live-finished = terminé
live-ended = arrêté avant la fin
live-usual = (d’habitude { $duration })
alarm-stall = Aucune ligne depuis { $duration } ; { $usual } serait habituel, et { $limit } est la limite. Regardez le processus : stepscope attach PID
run-kept = journal et horodatage : { $folder }     stepscope { $folder }
run-kept-partly = log et horodatages : { $folder }, sans { $count ->
    [one] un octet
   *[other] { $count } octets
  } de sortie que le disque n’a pas pris     stepscope { $folder }
alarm-disk = { $folder } n’accepte plus rien du log : { $reason }. La commande continue et sa sortie s’affiche ici jusqu’à la fin.
alarm-recording-gone = { $folder } a été supprimé : l’enregistrement est perdu. La commande continue et sa sortie s’affiche ici jusqu’à la fin.
error-run-not-started = la commande n’a pas pu être lancée
    .hint = ce fichier dit pourquoi
error-run-no-code = la commande est terminée, mais personne n’a vu comment : les processus qui le sauraient ont été tués
    .hint = le log finit par ce qu’elle a affiché en dernier : stepscope { $place }
error-run-what = lancer quoi ?
    .hint = par exemple : stepscope run -- python train.py
error-needs-posix = cela ne marche que sous Linux et macOS
    .hint = stepscope watch train.log     suit un journal sur tout système
error-needs-extra = cela demande l’extra { $extra }
    .hint = { $install }
error-bad-address = pas une adresse où envoyer
    .hint = par exemple : --notify mailto://user:pass@example.org
error-bad-interval = --interval se compte en secondes, de 0.05 à 3600
    .hint = par exemple : --interval 2
error-watch-one-log = un seul journal à la fois
    .hint = suivez la partie la plus récente de l’exécution
live-place = dans { $place }
attach-log = son journal : { $path }
attach-no-stack = La pile n’est pas visible ({ $reason }). Lancez-le sous le même utilisateur, ou permettez-le : sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = aucun processus de ce numéro
    .hint = pgrep -af python     montre ceux qui existent
error-process-not-ours = ce processus appartient à quelqu’un d’autre
    .hint = demandez sous son utilisateur : sudo -u UTILISATEUR stepscope attach { $place }
error-process-without-log = ce processus écrit sur un terminal ou dans un tube, pas dans un fichier
    .hint = nommez son journal : stepscope attach { $pid } --log train.log ; ou lancez-le avec : stepscope run -- CMD
error-bad-speed = --speed est un nombre au-dessus de 0
    .hint = par exemple : --speed 50
error-replay-file = seul un fichier peut être rejoué
    .hint = enregistrez-le d’abord : cat > train.log
## Causes

cause-accumulation = accumulation
cause-announced = travail annoncé
cause-async-checkpoint = sauvegarde asynchrone
cause-attention = calcul lent
cause-denormals = nombres dénormalisés
cause-heat = chaleur
cause-interruption = interruption
cause-leak = croissance
cause-length = lot plus long
cause-logging = journalisation
cause-memory = mémoire pleine
cause-neighbour = autre programme
cause-optimizer = travail périodique de l’optimiseur
cause-power = limite de puissance
cause-profiler = profileur
cause-recompile = recompilation
cause-schedule = planification
cause-straggler = rang lent
cause-c01-evidence = son temps contient une évaluation de { $duration }
cause-c01-rest = la ligne de l’évaluation indique { $duration } ; ici, chaque évaluation en apporte { $rest } de plus
cause-c01-beside = elle est à côté de la ligne d’une évaluation, comme pour la plupart des évaluations ici : { $duration } de plus
cause-c01-period = elle arrive à l’intervalle des évaluations, toutes les { $every } itérations ({ $count } fois), sans qu’une ligne le dise
cause-c02-evidence = son temps contient une sauvegarde de { $duration }
cause-c02-period = elle arrive à l’intervalle des checkpoints, toutes les { $every } itérations ({ $count } fois), sans qu’une ligne le dise
cause-c03-evidence = elle suit aussitôt une sauvegarde, et { $share } des { $count } sauvegardes sont suivies d’itérations lentes
cause-c04-evidence = parmi les premières itérations du processus : { $duration } de compilation et de premiers accès
cause-c05-evidence = la première évaluation a pris { $own }, les { $count } suivantes { $others }
cause-c05-level = elle commence juste après la première évaluation, avant l’itération { $step }
cause-c06-partial = la dernière itération d’une époque de { $count } : un lot partiel a une autre forme
cause-c06-fading = l’une des { $count } itérations lentes de plus en plus rares, { $share } dans le premier quart : on voit de moins en moins de formes nouvelles
cause-c06-level = elle commence par une seule itération très lente, { $step } ({ $duration } de plus)
cause-c08-printed = une ligne dit que le ramasse-miettes a tourné pendant { $duration }
cause-c08-evidence = { $count } itérations sont ralenties d’à peu près autant, { $duration } (± { $share }), sans intervalle fixe, comme quand Python ramasse les miettes
cause-c09-twins = des itérations lentes arrivent toutes les { $first } et toutes les { $second } itérations, deux peignes qui s’écartent : les rangs atteignent la fin d’un fragment de données à un pas d’écart
cause-c09-tokens = toutes les { $every } itérations, soit { $shard } tokens d’un fragment à { $tokens } par pas
cause-c09-evidence = toutes les { $every } itérations, ce qui n’est pas un nombre entier, { $count } fois : comme à la fin d’un fragment de données
cause-c09-whole = toutes les { $every } itérations : la fin d’un fragment de données peut tomber ainsi
cause-c10-evidence = exactement toutes les { $every } itérations, toujours environ { $duration } de plus : un travail voulu de l’optimiseur
cause-c11-workers = les itérations lentes sont espacées du nombre de processus de chargement, { $count }
cause-c11-evidence = toutes les { $every } itérations, de quantités variables (± { $share }) : comme quand autant de processus de chargement ne suivent pas
cause-c12-evidence = la première itération d’une époque de { $steps } ; { $share } des { $count } époques commencent lentement
cause-c12-period = au bord de chaque époque de { $steps } itérations ({ $count } fois) : les processus de chargement redémarrent
cause-c13-evidence = le niveau a baissé de { $share } tôt dans l’exécution ({ $done }) et y est resté, comme quand les données ont été lues une fois
cause-c14-evidence = un fichier a été demandé pendant ce temps et a mis { $own } à répondre ; les { $count } autres mettent { $usual }
cause-c16-more = { $count } nouvelles tentatives d’allocation dans sa fenêtre, { $usual } dans une fenêtre habituelle
cause-c16-usual = { $count } nouvelles tentatives d’allocation dans sa fenêtre, mais aussi { $usual } dans les autres : elles coûtent partout, pas davantage ici
cause-c17-full = { $change } plus lent d’un coup et pour de bon, avec { $share } de la mémoire de la carte utilisée : des pages peuvent passer à l’hôte
cause-c17-evidence = { $change } plus lent d’un coup et pour de bon : sous Windows ou WSL, la mémoire pleine de la carte fait cela
cause-c18-evidence = { $change } plus lent, en montée puis stable, comme quand une carte atteint sa température
cause-c18-follows = { $change } plus lent, et les évaluations d’autant : tout ce qui calcule a ralenti
cause-c19-pinned = la carte consomme { $share } de sa limite de puissance
cause-c19-evidence = { $change } plus lent et régulier : une limite de puissance ou d’horloge ferait cela
cause-c20-window = { $change } plus lent avec des bords nets, puis retour au niveau d’avant : quelqu’un est venu et reparti
cause-c20-back = { $share } plus rapide, retour à un niveau antérieur : celui qui partageait la machine est parti
cause-c20-evidence = { $change } plus lent d’un coup : un autre programme a pu démarrer sur la carte ou sur l’hôte
cause-c20-burst = l’une des { $count } itérations lentes de toutes tailles en { $steps } lignes : d’autres partagent peut-être la machine
cause-c21-evidence = le rang le plus lent a mis { $slowest }, le plus rapide { $fastest } : les autres l’ont attendu
cause-c22-evidence = une seule pause de { $duration } parmi des itérations de { $level } : suspendu, bloqué ou figé
cause-c24-evidence = toutes les { $every } itérations, un multiple de l’intervalle de log de { $interval }, avec des itérations courtes
cause-c25-memory = { $count } micro-pas de { $batch } séquences par pas, avec { $share } de la mémoire de la carte utilisée : un lot plus grand avec moins de micro-pas tiendrait
cause-c25-small = { $count } micro-pas de { $batch } séquences par pas pour un modèle de { $parameters } paramètres sur une carte : était-ce prévu pour huit ?
cause-c26-attention = l’en-tête avertit d’une attention lente : chaque itération la calcule sans noyau fusionné
cause-c26-dtype = l’exécution calcule en flottants de 32 bits sur un GPU : ses tensor cores restent inactifs
cause-c27-evidence = elle avait { $factor } fois le travail habituel, et le temps suit le travail dans cette exécution (corrélation { $tied })
cause-c27-level = le travail par itération a changé { $factor } fois avec lui
cause-c28-evidence = la première itération après la reprise à { $step } : charger, compiler et sauter ont pris { $duration }
cause-c29-evidence = une hausse régulière de { $change } sur l’exécution, qui ne se stabilise pas, comme quand quelque chose grandit à chaque itération
cause-c30-evidence = une hausse sur le CPU : des nombres proches de zéro sont peut-être devenus dénormalisés
cause-c32-evidence = une ligne avant elle parle d’une trace de profileur
cause-c33-evidence = la première itération après une évaluation ; { $share } des { $count } évaluations en ont une semblable
cause-c33-period = l’itération qui suit une évaluation est lente { $count } fois, alors que l’horloge de ce log exclut les évaluations
cause-c34-evidence = un changement de { $change } sur l’exécution presque sans bruit (± { $noise }) : plutôt prévu que subi
cause-c35-evidence = le log dit qu’elle a attendu ses données { $duration }
cause-c35-figure = elle a attendu ses données { $own } par itération, d’habitude { $usual }
cause-c35-level = l’attente des données a changé avec lui, de { $before } à { $after } par itération : { $share } du changement
cause-c36-evidence = devant elle, une ligne qui se trouve devant { $count } itérations, dont { $hits } lentes
cause-c36-evaluation = les évaluations précédées d’une telle ligne prennent { $own }, les autres { $others } ({ $count } d’entre elles)
level-slower = Depuis l’itération { $step }, les itérations sont { $share } plus lentes ({ $duration }).
level-faster = Depuis l’itération { $step }, les itérations sont { $share } plus rapides ({ $duration }).
level-candidate = Meilleure explication : { $cause } ({ $code }, sûre à { $confidence }) : { $evidence }.
level-others = Aussi possible : { $others }.
level-none = Rien dans le log ne dit pourquoi.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Toutes les { $every } itérations, l’une prend { $duration } de plus, { $count } fois jusqu’ici : { $cause } ({ $code }).
slow-rhythm-maybe = Toutes les { $every } itérations, l’une prend { $duration } de plus, { $count } fois jusqu’ici ; rien ne dit avec certitude pourquoi. Le plus probable : { $candidate }.
slow-rhythm-unknown = Toutes les { $every } itérations, l’une prend { $duration } de plus, { $count } fois jusqu’ici ; rien ne dit pourquoi.
finding-line = Toute l’exécution : { $evidence } ({ $code }).
settle-stamps = Des horodatages sur les lignes distingueraient une pause de la machine d’une itération lente : { $command }
settle-data = Imprimer combien chaque itération attend son lot dirait si les données étaient en retard.
settle-gpu = nvidia-smi pendant que cela arrive (et --nvidia-smi FICHIER ici) trancherait entre chaleur, puissance, mémoire et autres programmes.
settle-gc = gc.disable() après la première itération dirait si c’est le ramasse-miettes : les itérations lentes disparaîtraient.
settle-ranks = Le même log pour chaque rang montrerait lequel les autres ont attendu.
settle-events = { $count } itérations lentes ont la même hauteur, mais aucun intervalle n’est encore discernable : il en faudrait environ { $enough }.
why-title = Itération { $step }
why-took = Elle a pris { $duration } ; une itération normale voisine prend { $level }.
why-window = Sa ligne couvre { $count } itérations : { $duration } en tout, { $mean } chacune ; une normale voisine prend { $level }.
why-normal = C’est normal : neuf sur dix prennent { $span }.
why-raised = C’est plus que ses voisines, mais pas assez pour compter comme lente.
why-made-of = Elle se compose de : { $parts }.
why-cause = Cause : { $cause } ({ $code }, sûre à { $confidence }) : { $evidence }.
why-unexplained = Inexpliqué : rien dans ce log n’est assez sûr pour répondre de { $duration }.
why-lines = Les lignes qui l’appuient :
why-considered = Aussi envisagé :
why-candidate = { $code } { $cause }, { $confidence } : { $evidence }
why-turned-down = Écarté :
why-not-marker = aucune ligne avant elle ne parle d’une évaluation, d’une sauvegarde, d’un ramassage ou d’une attente
why-not-first = elle n’est pas parmi les premières itérations de son processus
why-not-period = elle ne garde aucun intervalle avec d’autres itérations lentes
why-not-epoch = elle n’est pas au bord d’une époque
why-not-data = l’attente de données imprimée y est habituelle
why-not-work = elle n’avait pas plus de travail que d’autres
why-not-save = aucune sauvegarde peu avant elle
why-not-pause = elle est trop courte pour une machine suspendue
why-periodic = Elle revient toutes les { $every } itérations, { $count } fois dans ce log.
why-neighbours = Autour d’elle : { $items }.
why-neighbour = { $step } : { $duration }
why-settle = Ce qui trancherait :
why-unprinted = L’itération { $step } n’a pas de ligne à elle. Les plus proches :
why-inside = L’itération { $step } fait partie de celles que couvre la ligne de l’itération { $line_step }.
why-no-time = La ligne de l’itération { $step } ne donne pas de temps.
why-page = La page entière : stepscope doc { $code }
error-no-such-step = le log n’a pas d’itération { $step }
    .hint = il va de { $first } à { $last }
error-bad-step = un pas est un nombre entier
    .hint = par exemple : stepscope why train.log 500
alarm-files-order = { $by ->
    [stamps] Les fichiers ont été lus dans l’ordre de leurs horodatages : { $paths }
   *[other] Les fichiers ont été lus dans l’ordre de leurs itérations : { $paths }
  }
alarm-files-repeated = { $count ->
    [one] Ce fichier contient les mêmes lignes qu’un autre et a été laissé de côté : { $paths }
   *[other] Ces fichiers contiennent les mêmes lignes que d’autres et ont été laissés de côté : { $paths }
  }
## Journaux de format inconnu

section-inferred = Comment ce journal a été lu
inferred-intro = Aucun format du catalogue ne reconnaît ce journal ; il a été lu d’après sa structure (sûr à { $confidence }) :
inferred-item = { $text } (sûr à { $confidence })
inferred-teach = Pour corriger : stepscope formats try { $path } --suggest > my.toml, modifiez my.toml et ajoutez --format-file my.toml
infer-step = « { $text } » est pris pour l’itération : un nombre entier qui monte de ligne en ligne.
infer-step-epoch = « { $epoch } » est pris pour l’époque et « { $batch } » pour l’itération dans celle-ci : elle recommence à chaque époque.
infer-step-is-epoch = « { $text } » est pris pour l’itération : il y a une ligne par époque.
infer-step-word = « { $text } » est pris pour l’itération.
infer-time-mean = « { $text } » est pris pour une moyenne depuis la première itération, en { $unit } : elle baisse de ligne en ligne alors que sa somme croît, et les itérations en sont déduites.
infer-time-none = D’aucun nombre de ces lignes on ne sait que c’est un temps.
infer-time-stamps = Les temps sont ceux entre les horodatages des lignes.
infer-time-step = « { $text } » est pris pour le temps d’une itération, en { $unit }.
infer-time-total = « { $text } » est pris pour le temps de toutes les itérations depuis la ligne précédente, en { $unit }.
infer-time-clock = « { $text } » est pris pour une horloge qui court de ligne en ligne, en { $unit }.
infer-time-rate = « { $text } » est pris pour des itérations par seconde.
infer-time-work = « { $text } » est pris pour le travail par seconde et « { $amount } » pour celui d’une itération.
infer-because-stamps = Cela concorde avec les horodatages.
infer-because-clock = Cela concorde avec l’horloge de la même ligne.
infer-because-rate = Cela concorde avec le débit de la même ligne.
infer-because-left = Cela concorde avec le temps restant que la ligne affiche.
infer-because-spacing = Les lignes qui couvrent plus ou moins d’itérations que les autres tranchent.
infer-because-meter = Sa moyenne suit entre parenthèses, comme pour un compteur lu à chaque itération.
infer-because-amounts = Avec une unité plus courte, les autres compteurs de la ligne monteraient plus vite qu’aucune machine.
infer-because-unit = Son unité est imprimée ; rien d’autre dans le journal ne le confirme.
infer-because-name = Il se nomme ainsi ; rien dans le journal ne confirme qu’il compte des secondes.
infer-because-size = Il n’a pas d’unité, et pour un nombre de cette taille les secondes sont le plus probable.
infer-total = « { $text } » est pris pour le nombre d’itérations.
infer-batches = « { $text } » est pris pour les itérations d’une époque.
infer-evaluation = Les lignes comme « { $text } » sont prises pour des évaluations.
infer-checkpoint = Les lignes comme « { $text } » sont prises pour des sauvegardes.
infer-step-counted = Les lignes comme « { $text } » n’ont pas de numéro : elles sont comptées, chacune comme une itération.
infer-step-bar = La barre « { $text } » est prise pour celle de l’entraînement : ses lignes sont les itérations.
infer-time-bar = Les durées sont celles de l’horloge de la barre, en secondes entières ; le débit affiché est lissé et n’est pas utilisé.
infer-bars-are-epochs = La barre commence { $count } fois ; chaque fois est prise pour une époque.
infer-step-batch = « { $text } » est pris pour le batch d’une époque ; le compte commence { $count } fois, chacune est prise pour une époque.
infer-doubt-interval = « { $text } » peut être le temps d’une itération ou celui des { $count } depuis la ligne précédente. Rien dans le journal ne dit lequel, donc aucun temps n’a été lu.
infer-doubt-unit = « { $text } » n’a pas d’unité et peut être le temps d’une itération ou de plusieurs ({ $count } depuis la ligne précédente). Rien dans le journal ne dit lequel, donc aucun temps n’a été lu.

## Comparer des exécutions

compare-slower = La seconde exécution est { $share } plus lente : { $before } → { $after } pour 1 000.
compare-faster = La seconde exécution est { $share } plus rapide : { $before } → { $after } pour 1 000.
compare-same = Les deux exécutions prennent le même temps : { $before } pour 1 000.
compare-most = L’essentiel de la différence est { $phase } : { $share }.
compare-real = Une itération normale diffère de { $low } à { $high } à { $confidence } : plus que du bruit.
compare-noise = Une itération normale diffère de { $low } à { $high } à { $confidence } : ce peut être du bruit.
compare-too-few = Trop peu d’itérations normales pour distinguer une différence du bruit.
compare-unit-steps = pour 1 000 itérations
compare-unit-tokens = par million de tokens
compare-settings-same = Les mêmes réglages, d’après les journaux.
compare-settings = Réglages différents : { $settings }
compare-no-times = { $path } : aucune itération avec un temps à comparer.
compare-no-tokens = Tous les journaux ne donnent pas leurs tokens : comparés par itérations.
error-compare-needs-two = compare demande deux journaux ou plus
    .hint = par exemple : stepscope compare old.log new.log

## La page

page-strip = Chaque itération
page-strip-hint = Glissez pour agrandir, double-cliquez pour tout voir. Une fois le graphique choisi : + et − ou la molette agrandissent, les flèches déplacent, N et P vont d’une itération lente à l’autre, Début montre tout.
page-whatif = Et si

## L’application web

web-all-runs = toutes les exécutions
web-compare = Comparer
web-no-runs = Aucun journal d’entraînement sous ce dossier.
web-paste = Un autre journal
web-paste-hint = Collez ici des lignes d’un journal, ou déposez un fichier sur cette page. Il est lu en mémoire et n’est gardé nulle part.
web-explain = Expliquer
serve-hint = Ctrl-C l’arrête. L’adresse porte le jeton qui laisse entrer un navigateur.
error-serve-needs-token = écouter au-delà de cette machine demande un jeton à vous
    .hint = par exemple : openssl rand -hex 16 > token.txt, puis --host 0.0.0.0 --token-file token.txt
error-bad-token = pas un jeton
    .hint = un mot fait de lettres et de chiffres, par exemple : openssl rand -hex 16 > token.txt
error-bad-allow-host = ni un nom d’hôte ni une adresse
    .hint = par exemple : --allow-host logs.example.com ou --allow-host localhost:9000
error-bad-port = pas un port
    .hint = par exemple : --port 8000
error-cannot-listen = impossible d’écouter là : { $reason }
    .hint = prenez un autre port, ou aucun pour un port libre
alarm-unexplained = Entre les itérations { $before } et { $step }, { $duration } se sont écoulées sans que rien dans le log ne l’explique.
clocks-differ = D’après ses horodatages, le log a duré { $stamps } ; d’après les temps affichés, { $printed } : { $rest } ne figurent dans aucun chiffre affiché.
## Formats que l’on enseigne

formats-words = Une ligne lui est montrée quand elle contient : { $words }.
formats-try-gave-up = abandon à la ligne { $line }, colonne { $column } :
formats-try-others = { $count ->
    [one] Un autre format ne reconnaît aucune ligne.
   *[other] { $count } autres formats ne reconnaissent aucune ligne.
  }
formats-try-account = { $name } : { $share } des indices, { $steps } itérations, { $seconds }, { $unread } lignes restantes
formats-try-behind = { $name } : { $share } des indices, { $steps } lignes d’itérations ; pas essayé davantage
formats-try-read-as = Lu comme { $name } : { $steps } itérations.
suggest-what = Un fichier de format pour Stepscope, fait d’après la structure de { $path }.
suggest-where = Mettez-le dans { $folder } ou nommez-le : stepscope { $path } --format-file FILE
suggest-groups = Les groupes nommés sont des valeurs : step ou epoch et batch, total, loss ; un temps est dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers vaut step, window (une moyenne), cumulative ou stamp ; figure_is_total = true quand le temps est celui de toutes les itérations depuis la ligne précédente.
suggest-none = Rien dans ce fichier ne compte d’itérations : ce qui suit est un formulaire à remplir.
error-suggest-needs-file = --suggest va avec try et un fichier
    .hint = stepscope formats try run.log --suggest > mine.toml
error-no-such-format-file = le fichier de format ne peut pas être lu : { $reason }
    .hint = stepscope formats try run.log --suggest > mine.toml     en écrit un
error-format-file-too-large = trop gros pour un fichier de format
    .hint = est-ce le journal ? Alors enlevez --format-file
error-format-file-not-text = le fichier de format n’est pas du texte UTF-8
    .hint = enregistrez-le en UTF-8
error-format-file-syntax = le fichier de format n’est pas du TOML : { $reason }
    .hint = un motif se met entre guillemets simples : pattern = '…'
error-format-key-missing = { $field } manque
    .hint = stepscope formats try run.log --suggest     écrit un fichier avec tout ce qu’il faut
error-format-key-unknown = la clé { $field } n’existe pas
    .hint = il y a : { $known }
error-format-key-type = { $field } a une valeur du mauvais genre
    .hint = elle ressemble à ceci : { $wanted }
error-format-bad-value = { $field } ne peut pas être { $value }
    .hint = l’un de : { $known }
error-format-bad-pattern = le motif n’est pas une expression régulière : { $reason }
    .hint = un signe qui vaut pour lui-même prend une barre oblique inverse : \[ \( \. \|
error-format-slow-pattern = le motif peut lire certaines lignes de tant de façons qu’il pourrait ne jamais finir
    .hint = donnez une fin à l’une des répétitions, par exemple { $example } au lieu de + ou *, ou séparez-les : \S+ \S+ plutôt que .+ .+
error-format-unknown-group = aucune valeur ne s’appelle { $group }
    .hint = il y a : { $known }
error-format-sample-missed = le motif abandonne à la colonne { $column } de son exemple : { $text }
    .hint = changez le motif, ou l’exemple
error-format-no-step = aucune ligne n’est du genre step
    .hint = un [[lines]] demande kind = 'step' et un motif avec (?P<step>\d+)
error-broken-plugin = le format { $name } d’un autre paquet ne peut pas être chargé : { $reason }
    .hint = réparez ou retirez ce paquet

## Vu de l’intérieur

inside-line = Vu de l’intérieur du processus : { $items }.
inside-evaluation = { $count } × évaluation { $duration }
inside-checkpoint = { $count } × sauvegarde { $duration }
inside-data = { $count } × attente des données { $duration } (la plus longue { $longest })
inside-gc = { $count } × ramasse-miettes { $duration } (le plus long { $longest })
inside-compile = { $count } × compilation { $duration }
inside-optimizer = { $count } × pas de l’optimiseur { $duration }
inside-retry = { $count } × allocation mémoire retentée
inside-step = { $count } × itération { $duration } (la plus longue { $longest })
inside-fetch = { $count } × chargement d’un lot { $duration } (le plus long { $longest })
inside-logging = { $count } × journalisation { $duration }
inside-other = { $count } × { $kind } { $duration } (le plus long { $longest })
## Prévision

assume-like = { $count ->
    [one] La suite est calquée sur une exécution précédente du même programme, { $path }, au rythme de celle-ci.
   *[other] La suite est calquée sur { $count } exécutions précédentes du même programme, comme { $path }, au rythme de celle-ci.
}
assume-passes = Le ralentissement actuel est nouveau : on suppose qu’il durera encore à peu près autant qu’il a duré.
finish-ask = Redemande après l’itération { $step }, dans environ { $duration }.
finish-ask-step = Redemande après l’itération { $step }.
deadline-chance = Fini avant { $time } : { $share } de chances.
deadline-sure = Fini avant { $time } : presque certainement.
deadline-hardly = Fini avant { $time } : guère possible.
error-bad-deadline = pas un moment : { $text }
    .hint = écris --deadline 08:00, --deadline 2025-11-15T08:00 ou des secondes Unix
error-like-format = le journal d’un autre entraîneur : { $its }, pas { $own }
    .hint = --like veut un journal complet du même programme
error-like-short = cette exécution s’arrête à l’itération { $last }, avant les { $total } de celle-ci
    .hint = --like veut un journal complet du même programme

advice-a106-costs = Les mêmes séquences en { $batches } batches de { $size }. Il faut modifier l’évaluation.
advice-a106-evidence = Une évaluation calcule { $batches } batches de { $size }, et la carte a de la mémoire pour de plus grands.
advice-a110-costs = De la place sur le disque pour le cache.
advice-a110-evidence = L’exécution a démarré { $count } fois ; le démarrage a pris { $duration } en tout.
advice-a115-costs = Le loss est affiché une fois toutes les { $count } itérations.
advice-a115-evidence = Chaque itération de { $duration } attend que son loss soit rapatrié et affiché.
advice-a116-costs = Un PyTorch plus récent ; les résultats ne diffèrent que par l’arrondi.
advice-a116-evidence = Le programme dit au démarrage que l’attention n’est pas fusionnée.

## Page, app and other tools

error-binary-to-terminal = un fichier { $name } n’est pas fait pour un terminal
    .hint = écrivez-le dans un fichier : -o rapport.{ $name }
## Conseils : précision, hypothèses, sauvegardes et disque

precision-same = L’erreur type du loss de validation reste à { $error }.
precision-same-seen = L’erreur type du loss de validation reste à { $error } ; d’une évaluation à la suivante le loss baisse d’environ { $gain }, ce qui reste visible.
precision-same-unseen = L’erreur type du loss de validation reste à { $error } ; d’une évaluation à la suivante le loss baisse d’environ { $gain }, trop peu pour qu’une seule le montre.
advise-rounding = Ne change pas ce qui est appris, à l’arrondi près.
advise-draws = Ne change pas ce qui est appris, à d’autres tirages au hasard près.
advise-assumed = Supposé, d’après des cas publiés : { $cases }
change-frees = { $change } : libère { $size } GB de disque
change-together = Tous à la fois font gagner environ { $duration } : { $after } au lieu de { $before }.
change-eval-interval = évaluer toutes les { $proposed } itérations au lieu de toutes les { $now }
change-checkpoint-interval = sauvegarder toutes les { $proposed } itérations au lieu de toutes les { $now }
change-log-interval = afficher toutes les { $proposed } itérations au lieu de toutes les { $now }
change-eval-iters = { $proposed } batches par évaluation au lieu de { $now }
change-none-few = Rien qui vaille la peine : évaluer et sauvegarder coûtent { $share } du temps, mais c’est déjà si rare que moins ne suffirait pas.
change-none-seen = Rien qui vaille la peine : le log ne montre aucune évaluation, et rien d’autre n’y coûte assez.
change-no-steps = Pas de conseil : aucun temps d’itération n’a pu être lu.
advice-a101-costs-seen = Les évaluations viennent { $factor } fois moins souvent.
advice-a102-costs-flat = L’erreur type du loss de validation passe de { $before } à { $after }. Le loss ne baisse plus d’une évaluation à la suivante : plus de batches ne montreraient pas de progrès non plus.
advice-a104-change = ne sauvegarder que si le loss de validation s’améliore
advice-a105-change = les mêmes batches d’évaluation à chaque fois, et { $proposed } au lieu de { $now }
advice-a105-precision = L’erreur d’une différence entre deux évaluations passe de { $before } à { $after } ou moins.
advice-a106-costs-plain = Les mêmes séquences en batches de { $size }. Si la mémoire manque, revenez en arrière.
advice-a106-evidence-plain = Les évaluations se font par batches de { $size }, et la carte a de la mémoire pour de plus grands.
advice-a106-change = batches d’évaluation de { $proposed } au lieu de { $now }
advice-a106-assumed = des batches 2 à 10 fois plus grands ont pris 0,84 à 1,12 du temps sur un processeur ; une carte qui attend entre les kernels gagne jusqu’à un tiers.
advice-a107-change = évaluer sur les { $count } rangs au lieu d’un seul
advice-a107-assumed = sur quatre cartes, une itération avec évaluation est passée de 20,5 à 8,7 s (issue 673 de nanoGPT).
advice-a108-costs-shorter = Plus de sauvegardes ; en échange, un plantage ne perd pas plus de { $duration } de travail.
advice-a108-evidence-accepted = Une sauvegarde arrête l’entraînement { $duration }. Avec un plantage toutes les { $between }, la règle de Daly donne { $best } comme meilleur intervalle ; vous acceptez de perdre { $accepted }.
advice-a109-change = sauvegarder de façon asynchrone
advice-a109-assumed = 27,3 s sont devenues 0,54 s pour un modèle de 8B sur huit H100 (issue 635 de NeMo Automodel) ; sur un processeur, 16 % de l’attente est restée.
advice-a110-change = garder le cache de compilation entre les démarrages
advice-a110-assumed = avec un cache chaud, la première itération de nanoGPT a pris 2,3 s au lieu de 26 s sur un processeur ; le chargement et le premier accès restent.
advice-a111-change = déclencher le ramasse-miettes à la main, toutes les quelques milliers d’itérations
advice-a112-change = { $count } processus de chargement, persistants et avec lecture anticipée
advice-a112-change-prefetch = lire le fragment suivant à l’avance, dans un thread
advice-a112-assumed = une attente de 0,217 s par itération est devenue 0,003 s avec plus de processus ; si le disque ou le réseau est lent, rien ne change.
advice-a113-assumed = rien sur une carte déjà occupée, jusqu’à un dixième sur une carte qui attend entre les kernels ; stepscope plan le calcule pour un modèle donné.
advice-a114-assumed = une V100 multiplie des matrices à 9,9 TFLOPS en bfloat16 et à 100 et plus en float16 (tables publiques).
advice-a115-assumed = la ligne de nanoGPT prend 0,3 ms sur un processeur, rien si la boucle attend de toute façon la carte, et quelques millisecondes avec un client de métriques.
advice-a116-change = attention fusionnée
advice-a116-assumed = GPT-2 sur une A100 est passé de 130 à 96 ms par itération ; les contextes courts gagnent moins, les longs plus.
advice-a117-change = AdamW fusionné
advice-a117-costs = Aucune mémoire ; les sommes sont arrondies dans un autre ordre. Il faut PyTorch 2.0 sur CUDA, 2.4 sur un processeur.
advice-a117-evidence = Le programme montre au démarrage que son optimiseur n’est pas fusionné.
advice-a117-assumed = 3 % pour GPT-2 sur une A100 (de 93 à 90 ms), 0 à 8 % pour de petits modèles sur un processeur.
advice-a118-change = garder les { $count } derniers checkpoints
advice-a118-costs = On ne peut revenir qu’aux { $count } derniers ; copiez à part ce qui doit rester.
advice-a118-evidence = { $count } checkpoints d’environ { $each } GB chacun, et ce programme les garde tous : { $total } GB à la fin.
safety-now = Entre deux sauvegardes (toutes les { $interval } itérations), jusqu’à { $stake } de travail est en jeu.
safety-within = C’est dans les { $accepted } que vous acceptez de perdre.
safety-beyond = Vous acceptez de perdre { $accepted } : sauvegardez au moins toutes les { $needed } itérations.
safety-best = Avec { $stall } d’attente par sauvegarde et les redémarrages vus, la règle de Daly perd le moins en sauvegardant toutes les { $best } itérations.
disk-one = Ce programme l’écrase à chaque fois.
disk-all = Ce programme les garde tous : { $count } à la fin, { $total } GB.
error-bad-may-lose = --may-lose attend une durée
    .hint = par exemple : --may-lose 10min, 90s ou 1h30m
error-change-twice = { $setting } est changé deux fois
    .hint = donnez-lui une seule valeur
error-unknown-change = aucun réglage de ce nom
    .hint = vouliez-vous dire { $known } ?

disk-each = Un checkpoint prend environ { $each } GB sur le disque.
disk-some = Ce programme garde les { $count } derniers : { $total } GB.

error-bad-change-switch = { $setting } vaut True ou False
    .hint = par exemple : --change { $setting }=False

whatif-past = L’exécution en est déjà à l’itération { $step }, au-delà de { $total } : elle serait terminée.

## La carte

card-size-unknown = Est-ce normal pour { $gpu } ? { $duration }, c’est ce qu’elle prend d’habitude avec un modèle de { $low } à { $high } M de paramètres. Rien ne dit la taille de celui-ci ; indiquez-la pour un verdict : --set parameters=124M.
page-zoom-in = Agrandir
page-zoom-out = Réduire
page-zoom-left = Vers la gauche
page-zoom-right = Vers la droite
page-zoom-all = Tout voir
page-normal = itération normale
page-outside = { $phase } entre deux itérations
page-level = niveau des itérations normales
page-tip = Itération { $step } : { $took }
page-validation = loss de validation
page-fan = Itérations au fil du temps : jusqu’ici, prévues à partir d’ici et prévues plus tôt
page-fan-past = jusqu’ici
page-fan-ahead = prévu à partir d’ici
page-fan-earlier = prévu plus tôt
section-backtest = Ce qui aurait été dit plus tôt
backtest-column-at = après
backtest-column-said = prévu
backtest-column-range = intervalle
backtest-column-took = réel
backtest-column-off = écart
backtest-at = { $share }, itération { $step }
backtest-summary = { $count ->
    [one] La prévision du temps jusqu’à l’itération { $step }, refaite à partir de ce que le log disait à ce moment ; le réel tombe dans son intervalle { $held } fois sur une.
   *[other] Prévisions du temps jusqu’à l’itération { $step }, refaites à partir de ce que le log disait à chaque moment. Le réel tombe dans l’intervalle de { $held } sur { $count }.
}
page-throughput = débit
page-tokens-rate = tokens par seconde, évaluations et sauvegardes comprises
page-steps-rate = itérations par seconde, évaluations et sauvegardes comprises
page-gpu = La carte
page-gpu-load = utilisation
page-gpu-memory = mémoire
page-gpu-power = puissance
page-gpu-temperature = température
cards-line = { $gpu }, { $count } mesures : { $items }.
cards-load = occupée à { $share } en moyenne
cards-memory = au plus { $used } sur { $total } Gio
cards-power = { $mean } W en moyenne, au plus { $most } W
cards-temperature = jusqu’à { $degrees } °C
page-whatif-left = encore { $duration } ({ $span })
page-whatif-done = terminé à { $time }
page-whatif-less = { $duration } de moins que maintenant
page-whatif-more = { $duration } de plus que maintenant
page-whatif-evaluations = évaluations à venir : { $number }
page-whatif-error = loss de validation ± { $error }
page-more-slow = { $count ->
    [one] Une itération lente de plus
   *[other] { $count } itérations lentes de plus
}
## Ce que dit la carte pendant ce temps

gpu-power-of = { $power } sur { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } sur { $most } MHz
gpu-held = freinée par { $reasons }
gpu-others = { $count ->
    [one] aussi dessus : { $names }
   *[other] { $count } autres dessus : { $names }
}
throttle-power_cap = sa limite de puissance
throttle-thermal = la chaleur
throttle-hw_slowdown = sa propre protection
throttle-power_brake = l’alimentation
throttle-sync_boost = la plus lente de son groupe
live-gpu = carte
alarm-near-oom = { $used } sur { $total } GiB de la carte sont occupés : un peu plus, et l’exécution s’arrête. Un lot plus petit avec plus d’accumulation en demande moins.
alarm-slowdown-thermal = Les itérations sont plus lentes de { $share } depuis l’itération { $step } : { $before } avant, { $after } maintenant. La carte baisse sa fréquence parce qu’elle est trop chaude : regardez ventilateurs, poussière et voisines.
alarm-slowdown-power = Les itérations sont plus lentes de { $share } depuis l’itération { $step } : { $before } avant, { $after } maintenant. La carte est à sa limite de puissance : voyez nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Les itérations sont plus lentes de { $share } depuis l’itération { $step } : { $before } avant, { $after } maintenant. Un autre processus est sur la carte : nvidia-smi dit lequel.
alarm-slowdown-memory = Les itérations sont plus lentes de { $share } depuis l’itération { $step } : { $before } avant, { $after } maintenant. La mémoire de la carte est pleine, et ce qui n’y tient pas passe peut-être en mémoire centrale : un lot plus petit aide.
alarm-finished = L’exécution est terminée : itération { $step }.
notify-failed = { $count ->
    [one] Un message n’a pas pu être envoyé ; vérifiez l’adresse de --notify.
   *[other] { $count } messages n’ont pas pu être envoyés ; vérifiez l’adresse de --notify.
}
live-log = log

## Le plan, carte par carte

plan-title-asked = Tel que réglé
plan-title-proposed = Réglages recommandés
plan-now = actuel
plan-row-evaluations = évaluations
plan-row-saved = gain
plan-keeps = Les mêmes tokens par itération : ce qui est appris ne change pas, à l’arrondi et aux tirages au hasard près. Avec moins de batches d’évaluation, le loss de validation est moins précis. --write DOSSIER écrit un fichier de configuration par carte.
plan-keeps-not = Les mêmes tokens par itération, mais float16 là où la carte n’a pas de bfloat16 : cela change légèrement ce qui est appris. --write DOSSIER écrit un fichier de configuration par carte.
plan-note-from = Calibré avec le log : { $duration } par itération sur { $gpu }.

plan-row-sequences = séquences par évaluation
plan-memory-other = autre, tel que mesuré
plan-model-derived = { $low } à { $high } M de paramètres, déduits ; compté avec { $parameters } : { $layers } couches × { $hidden }, contexte { $context }, vocabulaire { $vocabulary }

## Conseils : compiler, types, fragments

change-scope-rest-one = Gain sur le reste de cette exécution.
change-scope-run-one = Gain sur une exécution comme celle-ci.
disk-each-span = Un checkpoint prend environ { $each } GB sur le disque ({ $low } à { $high }).
advice-a112-costs-prefetch = De la mémoire hôte pour un fragment de plus.
advice-a112-assumed-prefetch = modded-nanogpt lit le fragment suivant dans un thread depuis son record 33 ; avant, chaque limite coûtait 160 à 200 ms.
advice-a119-costs = La première itération prend environ { $duration } de plus. Essayez pendant cent itérations : un petit modèle peut ne rien gagner.
advice-a119-evidence = Les réglages disent que le modèle n’est pas compilé.
advice-a119-assumed = GPT-2 sur une A100 est passé de 250 à 135 ms par itération (README de nanoGPT) ; un petit modèle sur une RTX 3080, de 44 à 48.
advice-a120-change = des formes constantes : écarter le batch incomplet, ou compléter
advice-a120-costs = On n’entraîne pas sur les séquences du batch incomplet, ou l’on calcule du remplissage pour rien.
advice-a120-evidence = { $count } itérations de { $duration } en tout ressemblent à des recompilations ; c’est { $share } du temps.
advice-a121-costs = Précision mixte : les poids restent en float32, les produits sont arrondis à 16 bits ; les losses diffèrent légèrement.
advice-a121-evidence = { $gpu } multiplie les nombres de 16 bits bien plus vite que ceux de 32, et cette exécution est en float32.
advice-a121-assumed = GPT-2 sur une A100 a pris 1 000 ms par itération en float32, 333 avec TF32, 300 avec bfloat16.
inside-skipped = Non accroché, car cette version ne le permet pas : { $names }.
split-trace = L’évaluation et le checkpoint ont été mesurés de l’intérieur du processus.
compare-title = Exécutions côte à côte
compare-section-each = Un de chaque
compare-section-why = Ce qui explique la différence : { $first } → { $other }
compare-section-settings = Réglages qui diffèrent
compare-row-typical = itération normale
compare-row-evaluation-each = une évaluation
compare-row-checkpoint-each = un checkpoint
compare-row-warmup = démarrage en tout
compare-row-stall = inexpliqué en tout
compare-row-wall = le log entier
web-runs = Les exécutions de ce dossier
web-choose = Comparer
web-failed = Le serveur ne répond pas : tourne-t-il encore ?

change-eval-epochs = évaluer toutes les { $proposed } époques (actuellement : { $now })

error-plan-from-impossible = { $gpu } ne peut pas être si rapide : les itérations du log feraient { $share } de son maximum avec ce modèle
    .hint = vérifiez --params, --context, --from-gpu, et batch_size et gradient_accumulation_steps

advice-a108-costs-unseen = Un plantage perd jusqu’à { $duration } de travail. Aucun n’a encore été vu ; on en suppose un par semaine.

warning-unknown-card = avertissement : aucune carte ne s’appelle { $name }, rien n’est donc dit de son maximum ; par exemple { $known } : stepscope doc cards les liste toutes
warning-no-effect = avertissement : { $flag } n’a aucun effet sur un affichage en direct
error-too-large-inside = il sort plus de { $size } de ce fichier
    .hint = décompressez-le et prenez la partie voulue : zcat file.gz | head -c 100M > partie.log

## À quel point la lecture est sûre

section-reading = Ce log est-il bien lu ?
reading-doubt = Cette lecture est douteuse (sûre à { $confidence }) : vérifiez-la avant de vous fier aux chiffres ci-dessous.
reading-item = { $text } [{ $code }]
reading-settle = Pour trancher : stepscope formats try { $path } montre comment chaque format lit ce log ; --format-file FILE le lit avec un autre, --set clé=valeur indique ce qu’il ne dit pas.
reading-agrees = Lecture : { $text }
reading-eta-doubt = douteux : ce log n’est peut-être pas bien lu (sûr à { $confidence }). { $text }
audit-clocks-none = Une seule horloge : rien d’autre dans le log ne montre si ses temps sont bien lus.
audit-clocks-agree = { $name ->
    [stamps] vérifiée avec les horodatages, qui concordent ({ $used } et { $other }).
   *[other] vérifiée avec le total du log lui-même, « { $name } », qui concorde ({ $used } et { $other }).
  }
audit-clocks-differ = { $name ->
    [stamps] Les temps imprimés font { $used } en tout, les horodatages des mêmes lignes { $other }.
   *[other] Les temps lus font { $used } en tout, mais le total du log lui-même, « { $name } », est de { $other }.
  }
audit-unread-counts-none = Aucune ligne non lue ne compte.
audit-unread-counts = { $count ->
    [one] Une ligne que Stepscope ne lit pas compte comme le font les itérations : « { $text } » (ligne { $line }).
   *[other] { $count } lignes que Stepscope ne lit pas comptent comme le font les itérations : « { $text } » (à partir de la ligne { $line }).
  }
audit-unread-times-none = Aucune ligne non lue ne donne des temps à répétition.
audit-unread-times = { $count ->
    [one] Une ligne que Stepscope ne lit pas contient peut-être un temps ou une perte : « { $text } » (ligne { $line }).
   *[other] { $count } lignes que Stepscope ne lit pas contiennent peut-être un temps ou une perte : « { $text } » (à partir de la ligne { $line }).
  }
audit-evaluations-booked = Les évaluations sont dans le compte.
audit-evaluations-unread = { $count ->
    [one] Une ligne ressemble à une évaluation qui n’est pas dans le compte : « { $text } » (ligne { $line }).
   *[other] { $count } lignes ressemblent à des évaluations qui ne sont pas dans le compte : « { $text } » (à partir de la ligne { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] Une évaluation a été vue, mais rien ne montre ce qu’elle a coûté.
   *[other] { $count } évaluations ont été vues, mais rien ne montre ce qu’elles ont coûté.
  }
audit-evaluations-none = Aucune ligne ne ressemble à une évaluation.
audit-end-short = Le log dit que l’exécution est terminée, mais la dernière itération lue est { $step } sur { $total }.
audit-end-unread = La ligne { $line } dit peut-être que l’exécution est terminée : « { $text } ».
audit-end-known = Le log dit comment l’exécution s’est terminée, et sa dernière itération concorde.
audit-end-none = Aucune ligne non lue ne parle d’une fin.
audit-step-none = Des itérations ont été lues, mais aucune durée normale n’en résulte.
audit-step-plausible = { $duration } est une itération plausible.
audit-step-odd = Une itération de { $duration }, ou des temps aussi inégaux, sont étranges pour un entraînement.
audit-total-none = Il n’y a pas de total à comparer.
audit-total-negative = Le total de { $duration } contredit ses parties.
audit-total-explained = { $share } du temps a un nom.
audit-total-unexplained = Rien dans le log n’explique { $share } du temps ({ $duration }).
audit-counter-short = Trop peu d’itérations pour voir si elles comptent régulièrement.
audit-counter-regular = Les itérations comptent régulièrement.
audit-clock-none = Le journal n’a pas d’horodatage qui puisse reculer.
audit-clock-runs-on = Les horodatages ne reculent jamais.
audit-clock-set = { $count ->
    [one] L’horloge a été reculée une fois pendant l’écriture du journal (ligne { $line }, de { $by }) ; ce qui s’est écoulé là est supposé.
   *[other] L’horloge a été reculée { $count } fois pendant l’écriture du journal (au plus à la ligne { $line }, de { $by }) ; ce qui s’est écoulé là est supposé.
}
audit-counter-again = { $count ->
    [one] Le compte repart du début une fois : le total est celui des deux lancements, alors que le dernier seul vous intéresse peut-être.
   *[other] Le compte repart du début { $count } fois : le total est celui de tous les lancements, alors que le dernier seul vous intéresse peut-être.
}
audit-counter-jumps = { $count ->
    [one] Les itérations ne comptent pas régulièrement, ou recommencent (une fois).
   *[other] Les itérations ne comptent pas régulièrement, ou recommencent ({ $count } fois).
  }
audit-lines-none = Il n’y a pas de lignes à compter.
audit-lines-many = { $share } des lignes sont lues.
audit-lines-few = Seulement { $share } des lignes sont lues.
audit-format-known = Le format est connu : { $format }.
audit-format-inferred = Le format n’est pas connu ; le sens des lignes a été déduit de leur structure (sûr à { $confidence }).
audit-formats-none = Aucun autre format n’a été essayé.
audit-formats-one = Aucun autre format que { $format } ne convient presque aussi bien.
audit-formats-close = Deux formats conviennent à peu près aussi bien : { $format } explique { $share } du log, { $other } { $rest }.
audit-trained-none = Aucune itération n’a été lue.
audit-trained = Des pertes, des évaluations ou des sauvegardes accompagnent les itérations.
audit-trained-unknown = Rien ne montre que ce qui compte ici est un entraînement : ni perte, ni évaluation, ni sauvegarde.
reason-no-steps-unread = aucune itération chronométrée n’a été lue. Des lignes comme « { $text } » (ligne { $line }) le disent peut-être ; Stepscope ne les lit pas.
reason-no-steps-over = aucune itération chronométrée n’a été lue, et le log dit comment l’exécution s’est terminée : il n’en viendra plus.
reason-no-times-unread = des itérations ont été lues, mais pas leur durée. Des lignes comme « { $text } » (ligne { $line }) le disent peut-être ; Stepscope ne les lit pas.
reason-no-total-unread = le nombre d’itérations de l’exécution n’a pas été lu. Des lignes comme « { $text } » (ligne { $line }) le disent peut-être ; Stepscope ne les lit pas. Indiquez --max-steps N, ou --config avec ses réglages.
change-none-seen-unread = Rien qui vaille la peine dans ce qui a été lu : aucune évaluation n’est dans le compte. Des lignes comme « { $text } » (ligne { $line }) le disent peut-être ; Stepscope ne les lit pas.
alarm-ended-early-unread = L’exécution s’est arrêtée après l’itération { $step } ; combien étaient prévues n’a pas été lu. Des lignes comme « { $text } » (ligne { $line }) le disent peut-être ; Stepscope ne les lit pas.

## What cost most time

finding-evaluation = { $count ->
    [one] { $count } évaluation a pris { $seconds }, soit { $share } du temps.
   *[other] { $count } évaluations ont pris { $seconds }, soit { $share } du temps.
  }
finding-checkpoint = { $count ->
    [one] { $count } checkpoint a pris { $seconds }, soit { $share } du temps.
   *[other] { $count } checkpoints ont pris { $seconds }, soit { $share } du temps.
  }
finding-warmup = Le préchauffage (compilation, première utilisation du GPU) a pris { $seconds }, soit { $share } du temps.
finding-data = L’attente des données a pris { $seconds }, soit { $share } du temps.
finding-gc = Le ramasse-miettes a pris { $seconds }, soit { $share } du temps.
finding-logging = L’écriture du log a pris { $seconds }, soit { $share } du temps.
finding-communication = L’attente d’autres processus a pris { $seconds }, soit { $share } du temps.
finding-stall = Des pauses inexpliquées ont pris { $seconds }, soit { $share } du temps.
finding-gap = Rien n’a tourné pendant { $seconds }, soit { $share } du temps : redémarrages ou machine en veille.
finding-slower = Les itérations { $first } à { $last } ont pris { $level } au lieu de { $normal } : cela a coûté { $seconds }, soit { $share } du temps.
finding-repeated = { $count ->
    [one] { $count } itération a été refaite après un redémarrage : { $seconds } d’entraînement, soit { $share } du temps.
   *[other] { $count } itérations ont été refaites après des redémarrages : { $seconds } d’entraînement, soit { $share } du temps.
  }
finding-after-best = La loss de validation était la plus basse à l’itération { $step } ({ $loss }). Les { $seconds } qui ont suivi, soit { $share } du temps, ont dégradé le modèle.

## La réponse en trois lignes

summary-running = En cours : { $where }
summary-finished = Terminé : { $where }
summary-stopped = Arrêté sans un mot : { $where }
summary-unknown = Peut-être encore en cours : { $where }
summary-crashed = Planté après { $wall } : { $where }
summary-crashed-early = Planté avant la première itération
summary-crashed-untimed = Planté : { $where }
summary-out_of_memory = Mémoire saturée après { $wall } : { $where }
summary-out_of_memory-early = Mémoire saturée avant la première itération
summary-out_of_memory-untimed = Mémoire saturée : { $where }
summary-interrupted = Interrompu après { $wall } : { $where }
summary-interrupted-early = Interrompu avant la première itération
summary-interrupted-untimed = Interrompu : { $where }
summary-killed = Processus tué après { $wall } : { $where }
summary-killed-early = Processus tué avant la première itération
summary-killed-untimed = Processus tué : { $where }
summary-cause = Ligne { $line } : { $text }
summary-memory = Il manquait { $asked } ; { $free } sur { $total } étaient libres (ligne { $line })
summary-smaller = Divisez le batch par deux et doublez l’accumulation : même entraînement
summary-smaller-batch = Essayez batch { $batch_size } × accumulation { $accumulation } : autant de tokens par itération
summary-lost = { $count ->
    [0] Rien n’est perdu : le dernier checkpoint date de la dernière itération, { $step }
    [one] Perdu : une itération ({ $seconds }) depuis le dernier checkpoint, à { $step }
   *[other] Perdu : { $count } itérations ({ $seconds }) depuis le dernier checkpoint, à { $step }
  }
summary-for-times = Pour avoir des temps, lancez : stepscope run -- python train.py
summary-nothing-lost = Aucun temps d’entraînement perdu : aucune itération n’a été faite
summary-left = Temps restant : { $left }{ $range }
summary-left-done = Temps restant : { $left }{ $range } · fin : { $time }
summary-left-if = S’il est encore en cours, temps restant : { $left }{ $range }
summary-resumed = Durée : { $wall } ; en cas de reprise, il resterait { $left }{ $range }
summary-took = Durée : { $wall }
summary-took-each = Durée : { $wall }, { $level } par itération
summary-no-times = Le log ne donne aucun temps : ni durée ni heure de fin
summary-no-steps = Aucune itération chronométrée pour l’instant : ni durée ni heure de fin
summary-so-far-no-total = { $wall } jusqu’ici ; pour l’heure de fin, passez --max-steps N
summary-so-far-no-end = { $wall } jusqu’ici ; pas encore d’heure de fin
summary-each-no-total = { $wall } jusqu’ici, { $level } par itération ; fin : passez --max-steps N
summary-each-no-end = { $wall } jusqu’ici, { $level } par itération ; pas encore d’heure de fin
summary-unlogged = Premier coût : { $seconds } ({ $share }) que le log n’explique pas
summary-healthy = Rien à corriger : { $share } du temps est de l’entraînement
summary-no-cost = Aucun coût évitable de 1 % ou plus
size-mib = { $size } Mio
size-gib = { $size } Gio
cost-evaluation = { $count ->
    [one] Premier coût : une évaluation, { $seconds } ({ $share } du temps)
   *[other] Premier coût : { $count } évaluations, { $seconds } ({ $share } du temps)
  }
cost-checkpoint = { $count ->
    [one] Premier coût : un checkpoint, { $seconds } ({ $share } du temps)
   *[other] Premier coût : { $count } checkpoints, { $seconds } ({ $share } du temps)
  }
cost-warmup = Premier coût : le préchauffage (compilation, premier usage du GPU), { $seconds } ({ $share })
cost-data = Premier coût : l’attente des données, { $seconds } ({ $share } du temps)
cost-gc = Premier coût : le ramasse-miettes, { $seconds } ({ $share } du temps)
cost-logging = Premier coût : l’écriture du log, { $seconds } ({ $share } du temps)
cost-communication = Premier coût : l’attente d’autres processus, { $seconds } ({ $share } du temps)
cost-stall = Premier coût : des pauses inexpliquées, { $seconds } ({ $share } du temps)
cost-gap = Premier coût : { $seconds } ({ $share }) d’inactivité (redémarrages, mise en veille)
cost-slower = Premier coût : itérations lentes { $first }–{ $last }, { $seconds } ({ $share } du temps)
cost-repeated = { $count ->
    [one] Premier coût : une itération refaite après un redémarrage, { $seconds } ({ $share })
   *[other] Premier coût : { $count } itérations refaites après des redémarrages, { $seconds } ({ $share })
  }
cost-after-best = Premier coût : { $seconds } ({ $share }) après la meilleure loss de validation, à { $step }

## Un écran

slow-group-times = { $where } ({ $count }×)
slow-group-some = plusieurs
slow-group-every = toutes les { $every }
slow-group-window = { $first }–{ $last }
change-short = { $change } : gain de { $duration }
part-about = { $phase } ≈{ $duration }
screen-more = Plus : --full
screen-more-about = Plus : --full. ≈ : ce log ne donne pas de chiffre exact.
screen-more-lines = { $count ->
    [one] … et une de plus
   *[other] … et { $count } de plus
  }
screen-inferred = Format inconnu, lu d’après sa structure (sûr à { $confidence })
## Flottes

fleet-listing = { $found } logs trouvés pour l’instant
fleet-progress = { $done } sur { $total } · { $rate } par seconde · reste { $left }
fleet-scanned = { $found } candidats trouvés : { $known } déjà connus, { $done } lus maintenant, { $failed } d’entre eux non compris
fleet-unreadable-folder = attention : impossible de lister le dossier { $path }
error-bad-workers = --workers est un nombre entier de 1 à 4095
    .hint = par exemple : --workers 8
error-fleet-needs-place = rien à lire
    .hint = nommez des dossiers ou des logs : stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = un autre processus écrit dans ce magasin
    .hint = attendez qu’il finisse, ou choisissez un autre --store
error-fleet-too-slow = la lecture a pris plus de { $minutes } minutes
    .hint = regardez-le seul : stepscope { $place }

## The list of runs and what is beside it
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
app-any-trainer = Tous les entraîneurs
app-any-folder = Tous les dossiers
app-folder = Dossier
app-no-folder = (ce dossier)
app-group = Grouper par dossier
app-sort = Tri
app-column-state = État
app-column-run = Exécution
app-column-trainer = Entraîneur
app-column-progress = Progression
app-column-step = Par itération
app-column-left = Reste ou fin
app-column-overhead = Surcoût
app-column-loss = Meilleure perte val.
app-column-time = Rythme et pauses
app-column-updated = Mis à jour
app-state-running = En cours
app-state-stalled = Bloquée ?
app-state-finished = Terminée
app-state-crashed = Plantée
app-state-out-of-memory = Mémoire pleine
app-state-interrupted = Interrompue
app-state-killed = Tuée
app-state-stopped = Arrêtée
app-state-unknown = Silencieuse
app-state-unread = Non lue
app-looking = Recherche des exécutions…
app-reading = Lecture : { $read } fichiers sur { $found }
app-count = { $shown } exécutions sur { $total }
app-others = Fichiers sans log d’entraînement : { $count }
app-unreadable = Dossiers illisibles : { $count }
app-no-match = Aucune exécution ne correspond. Effacez la recherche ou choisissez un autre état.
app-empty-start = Lancez un entraînement dont les durées sont enregistrées ; il apparaît ici en quelques secondes :
app-empty-paste = Ou ouvrez un log qui se trouve ailleurs : déposez-le sur cette page, ou collez ses lignes avec « Nouveau ».
app-choose-file = Ou choisissez un fichier :
app-facts = Ce que le log ne dit pas
app-facts-ask = Combien d’itérations comptera cette exécution ? Le log ne le dit pas
app-fact-total = Itérations au total
app-fact-parameters = Paramètres
app-fact-gpu = GPU
app-chosen = { $count } choisies
app-choose-more = Choisissez-en une de plus pour comparer.
app-most = On peut comparer jusqu’à huit exécutions.
app-files = { $count } fichiers
app-ran = a duré { $duration }
app-left-at = fin : { $time }
app-overdue = en retard
app-no-total = total inconnu
app-progress = { $step } sur { $total }
app-best-at = à { $step }
app-now-live = En direct
app-now-off = Sans réponse
app-offline = Le serveur ne répond pas : stepscope serve tourne-t-il encore ? Cette page montre le dernier état connu et réessaie.
app-alarms = Alarmes
app-notify-on = Me prévenir
app-notify-off = Notifications activées
app-notify-denied = Le navigateur bloque les notifications de cette page ; autorisez-les dans ses réglages du site.
app-notice-state = { $name } : { $state }
app-title-running = ({ $count }) Stepscope
app-overlay = Les courbes en une image
app-overlay-by = Axe horizontal
app-overlay-step = par itération
app-overlay-tokens = par tokens
app-overlay-time = par temps
app-overlay-loss = Perte d’entraînement
app-overlay-validation = Perte de validation
app-overlay-took = Temps d’une itération normale
app-unread = n’a pas pu être lue ({ $problem }) ; ouvrez-la pour la cause
app-unread-large = trop grande ou trop lente à lire pour la liste ; ouvrez-la pour la lire
app-instead-reason-no-total = le log ne dit pas combien d’itérations compte l’exécution. Remplissez « Itérations au total » ci-dessus.
app-instead-reason-implausible-total = le total annoncé de { $total } itérations n’est pas plausible : au rythme actuel, il faudrait encore { $left }. Corrigez « Itérations au total » ci-dessus.
app-instead-reason-no-total-unread = le nombre d’itérations de l’exécution n’a pas été lu. Des lignes comme « { $text } » (ligne { $line }) le disent peut-être ; Stepscope ne les lit pas. Remplissez « Itérations au total » ci-dessus.
app-instead-summary-so-far-no-total = { $wall } jusqu’ici ; pour l’heure de fin, remplissez « Itérations au total »
app-instead-summary-each-no-total = { $wall } jusqu’ici, { $level } par itération ; pour la fin, remplissez « Itérations au total »
app-instead-error-no-such-file = cette exécution n’est pas (ou plus) dans le dossier
    .hint = revenez à la liste : elle montre ce qu’il y a maintenant
app-instead-error-compare-needs-two = une comparaison demande au moins deux exécutions avec des durées
    .hint = revenez et cochez au moins deux lignes de la liste
error-bad-fact = « { $text } » n’est pas un nombre entier d’au moins 1
    .hint = revenez en arrière et écrivez-le comme 20000 ou 124M
