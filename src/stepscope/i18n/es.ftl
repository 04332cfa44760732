### Español (tú). Los términos que se dicen en inglés (checkpoint, batch, log, rank, shard) se quedan así.

## Números

number-least-grouped = 10000
unit-day = d
statements-separator = …; …
labelled = { $label }: { $text }
clock-with-date = { $date }, { $time }

## Fases, evidencia, orígenes

phase-step = entrenamiento
phase-evaluation = evaluación
phase-checkpoint = checkpoint
phase-warmup = calentamiento
phase-data = datos
phase-gc = recolector de basura
phase-logging = escritura del log
phase-communication = comunicación
phase-stall = sin explicar
phase-gap = pausa
phase-unlogged = fuera del log
basis-measured = medido
basis-inferred = deducido
basis-assumed = estimado
basis-unpriced = { $count }×, sin tiempos
basis-in-steps = { $count }×, dentro del entrenamiento
basis-unseen = sin línea, { $most } como máximo
origin-flag = indicado
origin-config = config
origin-log = log
origin-detected = detectado
origin-default = por defecto
part = { $phase } { $duration }
part-span = { $phase } { $duration } ({ $span })

## La ejecución

run-progress = iteración { $step } de { $total } ({ $share })
run-progress-open = iteración { $step }
run-none = ninguna iteración con tiempo
run-unread = no se reconoció ninguna iteración
run-normal = Una iteración normal tarda { $duration } (el 90 % tarda { $span }).
run-present = Ahora una iteración tarda { $duration }.
run-normal-one = Una iteración normal tarda { $duration }.
run-median = La iteración mediana tarda { $duration }.
run-tokens = { $tokens } tokens/s.
run-before = En el entrenamiento anterior tardaba { $duration }: este es un { $share } más { $pace ->
    [slower] lento
   *[faster] rápido
  }.
run-before-times = En el entrenamiento anterior tardaba { $duration }: este es { $factor } veces más { $pace ->
    [slower] lento
   *[faster] rápido
  }.
run-before-same = En el entrenamiento anterior tardaba casi lo mismo: { $duration }.
run-regimes = La velocidad cambió: { $levels }.
run-level = { $duration } desde la iteración { $step }
run-evaluations-inside = Incluye las evaluaciones: cada línea abarca las iteraciones anteriores y su evaluación, y no da el tiempo de cada parte.
run-sampled-by-total = El log muestra una de cada { $count } iteraciones, y esas tardan más; el tiempo de las demás se deduce del total que imprime.
run-sampled = El log muestra una de cada { $count } iteraciones; el tiempo de las demás se estima a partir de las impresas.
run-settings = Ajustes: { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu }: { $details }.
gpu-load = uso del { $share }
gpu-memory = { $used } de { $total } GiB
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## Cómo cambia la velocidad

trend-one = Con una sola línea no se ve ninguna tendencia.
trend-one-time = Con un solo tiempo impreso no se ve ninguna tendencia.
trend-steady = Velocidad estable (± { $share }): no hay ralentización en estas líneas.
trend-steady-but = Velocidad estable (± { $share }), salvo en las iteraciones { $first } a { $last }, que fueron más lentas.
trend-between = Las iteraciones { $first } a { $last } tardaron { $level }; la mayoría de las demás, { $normal }.
trend-scatter = Sin tendencia: los tiempos varían entre { $low } y { $high }.
trend-two-speeds = Dos velocidades: { $count } de { $total } iteraciones impresas tardan { $own }; las demás, { $others }. Las primeras son { $factor } veces más { $pace ->
    [faster] rápidas
   *[slower] lentas
}.
trend-every = Las más { $pace ->
    [faster] rápidas
   *[slower] lentas
} se repiten cada { $count } iteraciones.
trend-along = Las iteraciones son cada vez más { $pace ->
    [faster] rápidas
   *[slower] lentas
}: de { $before } a { $after } en estas líneas ({ $share }).
trend-along-times = Las iteraciones son cada vez más { $pace ->
    [faster] rápidas
   *[slower] lentas
}: de { $before } a { $after } en estas líneas (factor { $factor }).
trend-since = Las iteraciones son en torno a un { $share } más { $pace ->
    [faster] rápidas
   *[slower] lentas
} desde la { $step }: { $before } antes, { $after } después.
trend-since-times = Las iteraciones son { $factor } veces más { $pace ->
    [faster] rápidas
   *[slower] lentas
} desde la { $step }: { $before } antes, { $after } después.
data-bottleneck = La espera de datos ocupa el { $share } del tiempo ({ $wait } de { $step } por iteración): el cuello de botella es la carga de datos, y la GPU se queda esperando.
data-share = La espera de datos ocupa el { $share } del tiempo ({ $wait } de { $step } por iteración).
data-bottleneck-step = La espera de datos ocupa el { $share } de cada iteración ({ $wait } de { $step }): el cuello de botella es la carga de datos, y la GPU se queda esperando.
data-share-step = La espera de datos ocupa el { $share } de cada iteración ({ $wait } de { $step }).
data-first = Solo la primera línea espera datos: hasta la iteración { $step }, cada una esperó { $duration }; después, { $usual }. La carga de datos no frena el resto del entrenamiento.
data-minor = La espera de datos ocupa el { $share } del tiempo: la carga de datos no es el cuello de botella.
part-of-step = La mayor parte de una iteración es «{ $name }»: { $duration } de { $whole } ({ $share }).
data-by-means = La espera de datos ocupa el { $share } del tiempo según las medias que imprime el log ({ $wait } de { $step } por iteración): las iteraciones impresas apenas lo muestran, por casualidad.
data-in-means = La espera de datos ocupa el { $share } del tiempo según las medias que imprime el log ({ $wait } de { $step } por iteración).
data-at-once = La espera de datos ocupa el { $share } del tiempo, casi todo en { $count ->
    [one] la iteración { $step }
   *[other] { $count } iteraciones lentas, la más larga en { $step }
} ({ $duration }).
past-total = La cuenta supera el 100 % de su total: el entrenamiento continúa desde un modelo cargado, y el tiempo restante impreso no sirve.
rate-needs-size = El log solo imprime velocidades: para calcular los segundos por iteración hace falta el tamaño del batch.
rate-one = { $level } { $unit } por segundo en una sola línea: no basta para ver una tendencia.
rate-one-time = { $level } { $unit } por segundo, impreso una sola vez: no basta para ver una tendencia.
rate-steady = Velocidad estable (± { $share }): { $level } { $unit } por segundo.
rate-scatter = Sin tendencia: la velocidad varía entre { $low } y { $high } { $unit } por segundo.
rate-two-speeds = Dos velocidades: { $count } de { $total } iteraciones impresas van a { $other_low }–{ $other_high } { $unit } por segundo, las demás a { $low }–{ $high }: { $factor } veces más { $pace ->
    [faster] rápido
   *[slower] lento
}.
rate-along = La velocidad { $pace ->
    [faster] sube
   *[slower] baja
} de { $before } a { $after } { $unit } por segundo en estas líneas ({ $share }).
rate-along-times = La velocidad { $pace ->
    [faster] sube
   *[slower] baja
} de { $before } a { $after } { $unit } por segundo en estas líneas ({ $factor } veces).
rate-since = Va en torno a un { $share } más { $pace ->
    [faster] rápido
   *[slower] lento
} desde la iteración { $step }: { $before } { $unit } por segundo antes, { $after } después.
rate-since-times = Va { $factor } veces más { $pace ->
    [faster] rápido
   *[slower] lento
} desde la iteración { $step }: { $before } { $unit } por segundo antes, { $after } después.

## En qué se fue el tiempo

section-time = En qué se fue el tiempo
section-slow = Iteraciones lentas
section-finish = Cuándo termina
section-change = Qué cambiar
section-alarms = Alarmas
section-normal = Iteraciones normales
section-log = Qué se ha leído
time-table-phase = fase
time-table-time = tiempo
time-table-share = parte
time-table-range = intervalo
time-table-basis = origen
time-total = total

## Iteraciones lentas

slow-none = Ninguna iteración fue más lenta que sus vecinas.
slow-none-alone = Ninguna iteración destaca entre sus vecinas.
slow-column-step = iteración
slow-column-took = tardó
slow-column-why = se compone de
slow-more = { $count ->
    [one] … y una más: { $causes }
   *[other] … y { $count } más: { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = evaluación
cause-checkpoint = checkpoint
cause-warmup = calentamiento
cause-data = datos
cause-gc = recolector de basura
cause-unexplained = sin explicar
slow-unexplained = { $count ->
    [one] Una iteración lenta queda sin explicar ({ $duration } más que una normal).
   *[other] { $count } iteraciones lentas quedan sin explicar (en total, { $duration } más que las normales).
  }
slow-first-no-save = En la iteración 0 no se guarda ningún checkpoint. El resto, aparte de la evaluación, es calentamiento: compilación y primer uso de la GPU.
split-stamps = La evaluación y el checkpoint se distinguen por las marcas de tiempo de las líneas.
split-contrast = La evaluación y el checkpoint se distinguen comparando evaluaciones con y sin checkpoint.
split-first-step = La evaluación y el checkpoint se distinguen por la primera evaluación, en la que no se guarda nada.
split-model = Este log no permite separar la evaluación del checkpoint, porque cada checkpoint se guarda tras una evaluación. El reparto se estima a partir del número de pasadas forward y de lo que suele tardar un checkpoint; los intervalos muestran su incertidumbre.
split-guess = Este log no permite separar la evaluación del checkpoint, porque cada checkpoint se guarda tras una evaluación y no se sabe cuántos batches usa una evaluación (indica --set eval_iters=N). El reparto se estima a partir de lo que suele tardar un checkpoint; los intervalos muestran su incertidumbre.
split-guess-plain = Este log no permite separar la evaluación del checkpoint, porque cada checkpoint se guarda tras una evaluación. El reparto se estima a partir de lo que suele tardar un checkpoint; los intervalos muestran su incertidumbre.
split-not-yet = Aún es pronto para saber cuánto cuesta un checkpoint: hacen falta { $needed } evaluaciones con y sin checkpoint, aproximadamente, y el log tiene { $count }.
split-settle = Para tener cifras exactas, añade marcas de tiempo al log: { $command }
stamps-unusable = Las marcas de tiempo contradicen los tiempos impresos (¿un pipe con búfer por bloques?) y no se tienen en cuenta. Ejecuta python con -u.
arrivals-unused = La hora de llegada registrada de las líneas contradice los tiempos que imprimen; se usan los impresos.
evidence-marker = viene después de «{ $line }»
evidence-markers = viene después de «{ $line }» y «{ $save }»
evidence-first = la primera iteración del proceso: compilación y primer uso de la GPU
evidence-unprinted = este programa siempre evalúa en esta iteración, aunque la línea no está en el log
evidence-inside = medido dentro del proceso: { $parts }
evidence-none = ninguna línea indica el motivo; tarda { $duration } más que sus vecinas

## Cuándo termina

finish-left = tiempo restante: { $duration } ({ $span }, { $confidence } de confianza)
finish-at = fin previsto: { $time } ({ $low } – { $high })
finish-from-flag = hora de referencia: { $time } (la indicada)
finish-from-stamp = hora de referencia: { $time } (última marca de tiempo del log)
finish-from-stamp-plus = hora de referencia: { $time } (última marca de tiempo), más { $duration } de iteraciones impresas después
finish-from-no-year = { $text }; el log no indica el año, se supone { $year } por la fecha del archivo
finish-from-no-day = { $text }; el log no indica la fecha, se supone el día por la fecha del archivo
finish-from-nvidia-smi = hora de referencia: { $time } (la de la tabla de nvidia-smi)
finish-from-mtime = hora de referencia: { $time } (última escritura del archivo)
finish-from-clock = hora de referencia: { $time } (ahora)
finish-ended = La ejecución ha terminado. Si se reanudara ahora desde su última iteración, necesitaría este tiempo.
finish-complete = La ejecución se ha completado: iteración { $step } de { $total }.
left-step = { $count ->
    [one] una iteración
   *[other] { $count } iteraciones
  }
left-evaluation = { $count ->
    [one] una evaluación
   *[other] { $count } evaluaciones
  }
left-checkpoint = { $count ->
    [one] un checkpoint
   *[other] { $count } checkpoints
  }
left-priced = { $what } ({ $duration })
left-unpriced = { $what } (coste desconocido)
left-line = Pendiente: { $items }.
finish-next-evaluation = Próxima evaluación en la iteración { $step }.
rough-own = Tiempo restante aproximado: { $duration }, según el propio programa; estas líneas no permiten una estimación mejor.
rough-own-first = Tiempo restante aproximado: { $duration }, según el propio programa. Se basa en la primera y única iteración, que incluye el calentamiento; las siguientes suelen ser más rápidas.
rate-and-time = { $rate } { $unit } por segundo y { $duration } por iteración dan { $count } { $unit } por iteración.
skipped-few = { $count ->
    [one] Se ha omitido un paso del optimizador
   *[other] Se han omitido { $count } pasos del optimizador
} hasta ahora.
finish-last-event = Lo último que muestra el log es «{ $phase }» (línea { $line }); después no se imprime ninguna iteración.
rough-bar = Tiempo restante aproximado de esta barra de progreso, que puede ser la de una sola época entre varias: { $duration }.
rough-few = Tiempo restante aproximado a esta velocidad: { $duration }{ $range }. Son muy pocas líneas para una estimación mejor.
rough-two = Quedan entre { $low } y { $high }: la velocidad media de la barra de progreso y su último ritmo difieren en un factor de { $factor }.
rough-first = Tiempo restante aproximado si todas las iteraciones tardan como esta primera: { $duration }{ $range }. Incluye el calentamiento, así que la estimación es poco precisa.
finish-none = Sin hora de fin: { $reason }
finish-none-rough = Aún no hay una estimación mejor: { $reason }
finish-rate = A { $duration } por iteración, como ahora, las próximas 1000 tardarán { $thousand }.
finish-rate-evaluations = A { $duration } por iteración, como ahora, las próximas 1000 tardarán { $thousand }, { $count ->
        [one] incluida una evaluación
       *[other] incluidas { $count } evaluaciones
    }.
reason-no-steps = aún no hay ninguna iteración con tiempo. Vuelve a probar dentro de unas líneas.
reason-times-doubt = «{ $text }» puede ser el tiempo de una iteración o el de { $count }; nada en el log indica cuál.
reason-no-times = el log muestra iteraciones, pero no sus tiempos.
reason-no-total = el log no indica el número total de iteraciones. Indica --max-steps N, o --config con la configuración de la ejecución.
reason-loop-of-fits = el log muestra { $count } llamadas seguidas a fit, cada una de una sola época; no indica cuántas faltan.
reason-implausible-total = el total indicado de { $total } iteraciones no es creíble: a la velocidad actual el resto tardaría { $left }. Indica --max-steps N.
reason-too-few = { $count ->
    [one] solo se ha impreso una iteración normal; para calcular la velocidad hacen falta tres. Vuelve a probar dentro de unas líneas.
   *[other] solo se han impreso { $count } iteraciones normales; para calcular la velocidad hacen falta tres. Vuelve a probar dentro de unas líneas.
  }
assume-level = Se supone la velocidad actual, { $duration } por iteración.
assume-no-evaluations = Las evaluaciones no se incluyen: no se conoce su intervalo. Indica --set eval_interval=N.
assume-evaluations-unannounced = Las evaluaciones pendientes son una estimación: no se conoce su intervalo y no ha habido ninguna desde la primera iteración. Indica --set eval_interval=N.
assume-evaluation-unpriced = Las evaluaciones no se incluyen: aún no se ha medido ninguna y no se sabe cuántos batches usa cada una. Indica --set eval_iters=N.
assume-evaluation-prior = Aún no se ha medido ninguna evaluación: su coste se calcula a partir del número de pasadas forward.
assume-save-prior = Aún no se ha medido ningún checkpoint: se supone el coste habitual.
assume-evaluation-outside = El reloj de este log se detiene durante las evaluaciones y nada más indica lo que cuestan. El tiempo restante se cuenta con ese reloj, sin incluirlas; solo el extremo superior del intervalo les deja margen.
assume-saves = Se supone un checkpoint tras el { $share } de las evaluaciones, como en las últimas.
assume-default-interval = Se supone el intervalo de evaluación por defecto del programa, { $count } iteraciones; el log aún no lo confirma. Indica --set eval_interval=N.
assume-further-trainings = { $count ->
    [one] Después de este entrenamiento queda otro, también de { $steps } iteraciones; su tiempo está incluido.
   *[other] Después de este entrenamiento quedan otros { $count }, de { $steps } iteraciones cada uno; su tiempo está incluido.
}
assume-default-total = Se supone el número de iteraciones por defecto del programa, { $count }; el total no se indica en ninguna parte.

## Qué cambiar

change-none = No hay nada que merezca la pena cambiar: las evaluaciones y los checkpoints ocupan el { $share } del tiempo.
change-none-data = Acelera la carga de datos: la espera de datos ocupa el { $share } del tiempo.
change-unknown = Sin recomendaciones: este log no muestra lo que cuestan las evaluaciones.
change-scope-rest = Ahorro en lo que queda de esta ejecución. Los ahorros se solapan: no los sumes.
change-scope-run = Ahorro en una ejecución como esta. Los ahorros se solapan: no los sumes.
change-line = { $change }: ahorra { $duration } ({ $span })
advice-a101-costs = La pérdida de validación se mide { $factor ->
    [2] la mitad de veces
   *[other] { $factor } veces menos
  }. Los checkpoints solo se guardan tras una evaluación, así que con un fallo se pueden perder hasta { $steps } iteraciones ({ $duration }).
advice-a101-evidence = { $count } evaluaciones de { $duration } cada una ocupan el { $share } del tiempo. Con un intervalo mayor hay menos.
advice-a102-costs = El error estándar de la pérdida de validación aumenta de { $before } a { $after }.
advice-a102-costs-unknown = El error estándar de la pérdida de validación se multiplica por { $factor }; este log tiene muy pocos valores de pérdida para saber desde qué nivel.
advice-a102-evidence = Cada evaluación usa { $count } batches { $splits ->
    [one] de una partición
   *[other] de cada una de las { $splits } particiones
  }. El coste crece con el número de batches; la precisión, solo con su raíz cuadrada.
advice-a103-costs = Dejas de ver la pérdida de entrenamiento en las evaluaciones; las líneas de las iteraciones la muestran de todos modos. Hay que editar estimate_loss en train.py.
advice-a103-evidence = La mitad de cada evaluación se dedica a la partición de entrenamiento.
advice-a104-costs = Tras un fallo, la ejecución se reanuda desde el mejor checkpoint, no desde el último.
advice-a104-evidence = Los checkpoints ocupan el { $share } del tiempo; entre las últimas evaluaciones, el { $improving } mejoró el mejor resultado anterior.

## Alarmas

alarm-nan = { $count ->
    [one] La pérdida es NaN o infinita desde la iteración { $step } (una vez en el log). Todo lo que sigue es tiempo perdido.
   *[other] La pérdida es NaN o infinita desde la iteración { $step } ({ $count } veces en el log). Todo lo que sigue es tiempo perdido.
  }
alarm-oom = Sin memoria: { $text }
alarm-crash = Traceback o señal fatal: { $text }
alarm-interrupted = La ejecución se interrumpió: { $text }
alarm-ended-early = La ejecución terminó antes de tiempo, tras la iteración { $step } de { $total }.
alarm-ended-early-unknown = La ejecución terminó tras la iteración { $step }; el log no dice cuántas estaban previstas.
alarm-ended-before-steps = La ejecución terminó antes de acabar su primera iteración.
alarm-restarted = { $count ->
    [0] La ejecución llegó a la iteración { $before } y se reinició en la { $step }.
    [one] La ejecución llegó a la iteración { $before } y se reinició en la { $step }: se repitió una iteración ({ $lost }).
   *[other] La ejecución llegó a la iteración { $before } y se reinició en la { $step }: se repitieron { $count } iteraciones ({ $lost }).
  }
alarm-slowdown = Las iteraciones son un { $share } más lentas desde la { $step }: antes { $before }, desde entonces { $after }.
alarm-contradiction = { $setting } figura como { $stated }, pero el log muestra { $seen }; se usa el valor del log.
alarm-contradiction-mfu = { $setting } figura como { $stated }, pero el MFU y los tiempos impresos corresponden a { $seen }: revisa la configuración, o comprueba si esta copia del programa calcula el MFU con el máximo de otra GPU.
state-total = la iteración { $step } de { $total } es la última
state-words = el log dice: { $text }
state-last-printed = la iteración { $step } es la última de { $total } que el log imprime, y lo que sigue a la última iteración ya está hecho
state-after-stop = el log termina justo después de una evaluación o un checkpoint, poco frecuentes en él; nada indica que faltara algo
state-silent = el log termina sin ningún mensaje y no consta cuándo se escribió
state-last-written = última línea: { $at }; intervalo habitual entre líneas: { $usual }
reason-over-state-total = la ejecución se ha completado: iteración { $step } de { $total }.
reason-over-state-words = la ejecución ha terminado. El log dice: { $text }
reason-over-state-last-printed = la ejecución se ha completado: la iteración { $step } es la última de { $total } que el log imprime.
state-exit = el comando terminó con el código de salida { $code }
state-signal = el comando terminó por { $name } (código de salida { $code })
reason-over-state-exit = la ejecución ha terminado: el comando devolvió el código de salida { $code }.
reason-over-state-signal = la ejecución ha terminado: el comando terminó por { $name } (código de salida { $code }).
alarm-crash-code = Traceback o señal fatal: { $text } (código de salida { $code })
alarm-exit-code = El comando falló con el código de salida { $code }; su salida no indica el motivo.
alarm-signal = El comando terminó por { $name } (código de salida { $code }).
alarm-killed = El comando murió por { $name } (código de salida { $code }), a menudo por falta de memoria; dmesg lo mostraría.
alarm-walltime = Fin del trabajo: { $time }. Probabilidad de completar la ejecución antes: { $share } (la iteración { $step } de { $total } es la última que se puede guardar a tiempo).
alarm-save-now = Guarda ahora. Fin del trabajo: { $time }; la iteración { $step } es la última que se puede guardar a tiempo.
alarm-nan-passed = { $count ->
    [one] Un valor de la pérdida no es un número (iteración { $step }); desde la iteración { $later } los valores vuelven a ser finitos.
   *[other] { $count } valores de la pérdida no son números, el primero en la iteración { $step }; desde la iteración { $later } vuelven a ser finitos.
}
alarm-nan-unread = { $count } líneas muestran una pérdida que no es un número; la primera es la { $line }.
alarm-skipped-steps = Se omitieron { $count } de { $total } pasos del optimizador ({ $share }): sus gradientes no eran finitos, así que los pesos no cambiaron.
alarm-skipped-since = Desde la iteración { $step } hasta la { $last } se omitieron todos los pasos del optimizador: los pesos ya no cambian.
alarm-memory-pressure = { $count } líneas indican que la memoria de la GPU está tan llena que PyTorch vacía su caché, lo que ralentiza las iteraciones: { $text }
alarm-memory-ran-out = La memoria de la GPU se agotó y el programa siguió: { $text }
alarm-line = línea { $line }

## Qué se ha leído

read-unread = { $unread ->
    [one] No se entendió una de las { $lines } líneas, la { $line }: { $text }
   *[other] No se entendieron { $unread } de las { $lines } líneas; la primera es la { $line }: { $text }
  }
read-all = Se entendieron las { $lines } líneas.

## Notas

note-title = { $count ->
    [one] Por qué fue lenta la iteración { $steps }
   *[other] Por qué fueron lentas las iteraciones { $steps }
  }
note-title-many = Por qué fueron lentas { $count } iteraciones
note-title-none = En qué se fue el tiempo de un entrenamiento
note-title-eta = Tiempo estimado de entrenamiento: { $duration } aproximadamente
note-title-eta-none = Tiempo estimado de entrenamiento: aún desconocido
note-intro = { $count ->
    [one] En { $lines } líneas de log hay una iteración lenta.
   *[other] En { $lines } líneas de log hay { $count } iteraciones lentas.
  }
note-intro-none = En { $lines } líneas de log no hay ninguna iteración lenta.
note-slow-lines = Esto es lo que muestra el log alrededor:
note-list-and = { $first } y { $last }
section-progress = Progreso actual
section-evaluations = Evaluaciones restantes
section-estimate = Estimación de tiempo
note-progress-done = Se han completado { $step } de { $total } iteraciones.
note-progress-left = Iteraciones restantes: { $count }.
note-evaluation-every = Cada { $every } iteraciones hay una evaluación, que tarda { $duration } ({ $span }).
note-evaluation-next = La próxima es en la iteración { $next }, luego en la { $after }…; la última, en la { $last }.
note-evaluation-left = Evaluaciones restantes: { $count }.
note-evaluation-unknown = No se sabe cada cuánto hay una evaluación.
note-total = Tiempo total restante: { $duration }.
note-interval = Intervalo: { $span }, con un { $confidence } de confianza.
note-hardware-assumed = Según nvidia-smi: { $details }.

## Comandos

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = El tiempo abarca: { $covers }; incluye: { $includes }.
formats-lines = Líneas que reconoce:
formats-try-none = Ningún formato conocido reconoce este archivo.
formats-try-claimed = { $name }: reconoce { $count } de { $lines } líneas, { $steps } de ellas con una iteración
demo-intro = El caso de referencia: nanoGPT en una RTX 4070 a las 02:30. Para reproducirlo: { $command }
written = escrito: { $path }
doc-in-english = Estas páginas solo están en inglés.
error-title = error
error-try = prueba

## Errores

error-no-such-file = no existe el archivo
    .hint = { $nearby ->
        [none] revisa la ruta; también valen una carpeta, - para la entrada estándar y archivos .gz, .xz, .zst
       *[other] ¿querías decir { $nearby }?
      }
error-unreadable = no se puede leer: { $reason }
    .hint = revisa sus permisos: ls -l { $place }
error-folder-without-log = en esta carpeta no hay ningún log de entrenamiento, solo { $count ->
    [one] { $names }
   *[other] otros { $count } archivos: { $names }
  }
    .hint = indica el propio log, o graba una ejecución: stepscope run -- python train.py
error-folder-empty = en esta carpeta no hay ningún archivo legible
    .hint = indica el propio log, o graba una ejecución: stepscope run -- python train.py
error-empty = el archivo está vacío
    .hint = ¿la salida del programa pasa por un búfer? Ejecuta python con -u y vuelve a probar cuando haya impreso algo
error-binary = no es un archivo de texto
    .hint = indica lo que imprimió el programa, por ejemplo: python -u train.py | tee train.log
error-broken-archive = no se puede descomprimir el archivo: { $reason }
    .hint = descomprímelo a mano para ver qué queda: zcat { $place } | stepscope -
error-broken-database = la base de datos no se puede leer: { $reason }
    .hint = recupera lo que puedas con sqlite3 { $place } .recover, o exporta las métricas como CSV
error-no-metrics-table = la base de datos no tiene una tabla metrics: no es de MLflow
    .hint = indica el log del entrenamiento, o exporta sus métricas como CSV o líneas JSON
error-not-a-training-log = ningún formato conocido reconoce este archivo, y su estructura no es la de un log de entrenamiento
    .hint = stepscope formats try { $path } --suggest     muestra hasta dónde llega cada formato y cómo definir uno nuevo
error-nvidia-smi-table = esto es la salida de nvidia-smi, no un log de entrenamiento
    .hint = stepscope train.log --nvidia-smi { $path }     explica un log con ella
error-no-format-fits = ningún formato conocido reconoce este archivo; líneas como esta pueden ser iteraciones, pero no está claro qué número es la iteración o el tiempo
    .hint = stepscope formats try { $path } --suggest     muestra hasta dónde llega cada formato y cómo definir uno nuevo
error-no-such-config = no existe el archivo de configuración
    .hint = --config espera el archivo con que se lanzó la ejecución, por ejemplo config/train_gpt2.py
error-config-is-folder = la configuración es una carpeta
    .hint = indica el propio archivo
error-config-too-large = demasiado grande para un archivo de configuración
    .hint = ¿es este el log? stepscope { $place }
error-config-not-text = la configuración no es un archivo de texto
    .hint = --config espera el config.py de nanoGPT, JSON o TOML
error-config-syntax = la configuración no se puede interpretar: { $reason }
    .hint = corrígela, o indica lo que importa: --set max_iters=20000 --set eval_interval=500
error-config-too-deep = la configuración tiene más de { $limit } niveles anidados
    .hint = indica solo lo que importa: --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = la configuración contiene más de { $limit } valores una vez expandidos sus alias
    .hint = indica solo lo que importa: --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = no es una tabla de nvidia-smi
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = por este pipe llegaron más de { $size }
    .hint = guarda una sola lectura: nvidia-smi > smi.txt
error-bad-setting = --set espera clave=valor
    .hint = por ejemplo: --set eval_interval=500
error-unknown-setting = ajuste desconocido
    .hint = { $nearest ->
        [none] elige entre: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-bad-count = { $setting } debe ser un número entero mayor o igual que 1
    .hint = por ejemplo: --set { $setting }=500
error-bad-max-steps = --max-steps espera un número entero mayor o igual que 1
    .hint = por ejemplo: --max-steps 20000
error-bad-moment = no es una hora válida: { $text }
    .hint = por ejemplo: --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence debe estar entre 0.5 y 0.99
    .hint = por ejemplo: --confidence 0.9
error-bad-language = idioma desconocido: { $text }
    .hint = { $nearest ->
        [none] elige entre: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-bad-choice = { $flag } no puede ser { $text }
    .hint = { $nearest ->
        [none] elige entre: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-no-such-command = comando desconocido
    .hint = { $nearest ->
        [none] elige entre: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-unknown-flag = opción desconocida: { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     muestra las opciones
       *[other] ¿querías decir { $nearest }?
      }
error-unknown-command = no es ni un comando ni un archivo
    .hint = ¿querías decir: stepscope { $nearest }?
error-too-many-arguments = sobran argumentos para { $command }
    .hint = { $command } --help     muestra el uso
error-wrong-usage = { $reason }
    .hint = { $command } --help     muestra el uso
error-missing-argument = falta un argumento: { $missing }
    .hint = { $command } --help     muestra el uso
error-missing-value = { $flag } necesita un valor
    .hint = { $command } --help     muestra el uso
error-languages-need-folder = varios idiomas necesitan varios archivos
    .hint = indica una carpeta para ellos: -o notas/
error-no-such-format = formato desconocido
    .hint = { $nearest ->
        [none] stepscope formats     los enumera
       *[other] ¿querías decir { $nearest }?
      }
error-no-such-code = código desconocido
    .hint = elige entre: { $known }
error-cannot-write = no se puede escribir: { $reason }
    .hint = elige otro lugar con -o
error-unread-lines = { $count ->
    [one] una línea no se entendió (--strict)
   *[other] { $count } líneas no se entendieron (--strict)
  }
    .hint = stepscope formats try { $path }     las muestra

## Un plan antes de la ejecución

plan-model = { $parameters } de parámetros: { $layers } capas × { $hidden }, contexto { $context }, vocabulario { $vocabulary }
plan-training = { $steps } iteraciones de { $tokens } tokens (batch_size { $batch } × gradient_accumulation_steps { $accumulation } × { $context }); { $flops } GFLOP por token.
plan-memory = Memoria con batch_size { $batch }: { $parts }.
plan-memory-weights = pesos
plan-memory-gradients = gradientes
plan-memory-optimizer = optimizador
plan-memory-activations = activaciones
plan-memory-logits = logits
plan-memory-context = contexto CUDA
plan-row-memory = memoria (GiB)
plan-row-largest = batch_size máximo
plan-row-step = iteración
plan-row-band = … intervalo del 90 %
plan-row-tokens = tokens por segundo
plan-row-utilisation = MFU de esta GPU
plan-row-evaluation = una evaluación
plan-row-checkpoint = un checkpoint
plan-row-total = toda la ejecución
plan-row-finish = fin
plan-row-energy = energía
plan-row-cost = coste
plan-fits = { $used } de { $total }
plan-fits-barely = { $used } de { $total }, justo
plan-fits-not = { $used } de { $total }, demasiado
plan-fits-nothing = { $gpu }: no cabe ni una secuencia en su memoria. Usa un modelo o un contexto más pequeños.
plan-calibrating = midiendo esta máquina…
plan-note-calibrated = Medido aquí ({ $gpu }): { $tflops } TFLOPS, memoria { $bandwidth } GB/s, disco { $disk } MB/s.
plan-note-defaults = Sin indicar; se usan los valores por defecto del programa: { $names }.
plan-note-derived = El tamaño del modelo no está indicado. Tardar { $duration } con { $tokens } tokens en { $gpu } corresponde a un modelo de { $low } a { $high } de parámetros; la tabla usa un valor intermedio. Para tener cifras exactas, indícalo: --params, o n_layer y n_embd en la configuración.
plan-note-derived-memory = El tamaño del modelo no está indicado. Tardar { $duration } con { $tokens } tokens en { $gpu } y la memoria en uso corresponden a un modelo de { $low } a { $high } de parámetros; la tabla usa un valor intermedio. Para tener cifras exactas, indícalo: --params, o n_layer y n_embd en la configuración.
error-unknown-card = GPU desconocida
    .hint = por ejemplo: { $known }
error-plan-needs-card = ¿qué GPU?
    .hint = indícala: --gpu 4070, o varias: --gpu 4070,4080,4090; o mide esta máquina: --calibrate
error-plan-needs-model = ¿qué modelo?
    .hint = --config config/train_gpt2.py, o --params 124M, o --layers 12 --hidden 768
error-plan-shape-missing = a la configuración le falta lo que determina el tamaño del modelo: { $names }
    .hint = añádelo con --set, o indica el tamaño: --params 7B
error-plan-bad-shape = ningún modelo tiene esa forma
    .hint = por ejemplo: --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = no es un número de parámetros válido
    .hint = por ejemplo: --params 124M
error-bad-devices = --devices espera un número entero mayor o igual que 1
    .hint = por ejemplo: --devices 8
error-bad-price = no es un precio válido
    .hint = por ejemplo: --price 0.40/h o --price 0.30/kWh
error-plan-from-needs-card = ¿qué GPU escribió este log?
    .hint = --from-gpu 4070, o una tabla guardada: --nvidia-smi nvidia-smi.txt
error-plan-needs-context = ¿cuántos tokens tiene una secuencia? El log no lo dice
    .hint = por ejemplo: --context 1024
error-plan-log-untimed = este log no tiene ninguna iteración normal con tiempo para calibrar
    .hint = planifica sin él, o vuelve a probar cuando tenga unas líneas más
error-plan-not-derived = ningún modelo con una forma habitual tarda tanto en esa GPU: ¿son correctos la GPU y el tamaño del batch?
    .hint = indica el modelo: --params 124M
## Varios entrenamientos, varios procesos
alarm-trainings = El log contiene { $count } entrenamientos, uno tras otro. Este informe trata del último, desde la línea { $line }; el tiempo de los demás está en el desglose.
alarm-writers = { $count ->
    [one] Dos procesos escriben en este log. Una iteración del otro no se cuenta.
   *[other] Dos procesos escriben en este log. { $count } iteraciones del otro no se cuentan.
  }
alarm-straggler = El rank { $rank } es un { $share } más lento que los demás: { $own } por iteración en lugar de { $others }. Todos los ranks lo esperan.
alarm-straggler-host = El rank { $rank } en { $host } es un { $share } más lento que los demás: { $own } por iteración en lugar de { $others }. Todos los ranks lo esperan.

## Más consejos, y qué haría un cambio

advice-a102-costs-seen = El error estándar de la pérdida de validación aumenta de { $before } a { $after }; la pérdida aún baja { $gain } entre evaluaciones, así que la tendencia se sigue viendo.
advice-a102-costs-unseen = El error estándar de la pérdida de validación aumenta de { $before } a { $after }; la pérdida solo baja { $gain } entre evaluaciones, así que una sola evaluación ya no muestra la mejora.
advice-a105-costs = La curva es más suave, pero lleva un sesgo constante de { $offset } aproximadamente; haz una evaluación grande al final. Hay que editar la evaluación: la misma semilla para sus batches cada vez.
advice-a105-costs-unknown = La curva es más suave, pero lleva un sesgo constante; haz una evaluación grande al final. Hay que editar la evaluación: la misma semilla para sus batches cada vez.
advice-a105-evidence = Cada evaluación toma { $count } batches nuevos. Con los mismos batches cada vez, las diferencias tienen entre 4 y 7,6 veces menos ruido por el mismo coste, así que bastan { $fewer } para ver la tendencia.
advice-a107-costs = Basta con cambiar el código: cada rank evalúa su parte de los mismos batches y se promedian las pérdidas.
advice-a107-evidence = Solo uno de los { $count } ranks evalúa, y los demás esperan.
advice-a108-costs = Un fallo puede costar hasta { $duration } de trabajo.
advice-a108-evidence = Un checkpoint detiene el entrenamiento { $duration }; con un fallo cada { $between }, la regla de Daly da { $best } como intervalo óptimo.
advice-a109-costs = RAM para una copia del estado, e iteraciones algo más lentas mientras se escribe.
advice-a109-evidence = Los checkpoints detienen el entrenamiento el { $share } del tiempo.
advice-a111-costs = La memoria retenida por referencias cíclicas solo se libera cuando ejecutas el recolector, cada pocos miles de iteraciones.
advice-a111-evidence = El recolector de basura consume el { $share } del tiempo.
advice-a112-costs = RAM y tiempo de CPU para los procesos de carga.
advice-a112-evidence = La espera de datos ocupa el { $share } del tiempo.
advice-a113-costs = Los mismos tokens por iteración: batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Los resultados solo difieren en el redondeo. Si te quedas sin memoria, deshaz el cambio.
advice-a113-evidence = Solo se usa el { $share } de la memoria de la GPU.
advice-a114-costs = float16 necesita escalar la pérdida, cosa que nanoGPT, Hugging Face y Lightning hacen solos; las pérdidas difieren ligeramente.
advice-a114-evidence = { $gpu } no tiene bfloat16 por hardware: lo emula, más o menos a la décima parte de la velocidad.
advise-paste = escribe: { $paste }
advise-keeps = No cambia lo que aprende el modelo.
advise-changes = Cambia lo que aprende el modelo.
section-whatif = Qué cambiaría
whatif-change = { $setting }: { $now } → { $then }
whatif-saves = Ahorra { $duration } ({ $span }).
whatif-costs = Cuesta { $duration } más ({ $span }).
whatif-same = No cambia el tiempo.
whatif-left = Tiempo restante: { $duration } en vez de { $before } ({ $span }, { $confidence } de confianza)
whatif-run = Una ejecución como esta tardaría { $duration } en vez de { $before }.
whatif-precision = El error estándar de la pérdida de validación pasa de { $before } a { $after }.
whatif-unknown = Con este log no se puede saber cómo cambiaría el tiempo con { $names }.
error-bad-change = --change espera clave=valor
    .hint = por ejemplo: --change eval_interval=1000
error-bad-change-value = { $setting } espera un número entero mayor o igual que 1
    .hint = por ejemplo: --change { $setting }=500

## La GPU

card-mfu = { $gpu }: { $share } de sus { $peak } TFLOPS (MFU respecto al máximo de esta GPU).
card-normal = Es normal en esta GPU: un modelo de este tamaño debería tardar { $span }.
card-slow = Es lento en esta GPU: un modelo de este tamaño debería tardar { $span }.
card-fast = Es más rápido de lo esperado: un modelo de este tamaño debería tardar { $span }.
alarm-hang = Un rank dejó de responder y los demás abandonaron la espera: { $text }
alarm-hang-after = Un rank dejó de responder y los demás abandonaron la espera al cabo de { $duration }: { $text }
alarm-false-done = La línea { $line } dice que el entrenamiento ha terminado, pero la última iteración es la { $step } de { $total }.
alarm-false-done-empty = { $count ->
    [one] La línea { $line } dice que el entrenamiento ha terminado, pero ese arranque falló antes de su primera iteración.
   *[other] La línea { $line } y otras como ella ({ $count } en total) dicen que el entrenamiento ha terminado, pero esos arranques fallaron antes de su primera iteración.
  }

## El programa

train-loading = Iniciando PyTorch y preparando los datos…
train-progress = iteración { $iteration } de { $last }, tiempo restante: { $left }
train-doing-evaluation = iteración { $iteration } de { $last }: evaluando…
train-doing-checkpoint = iteración { $iteration } de { $last }: copiando el checkpoint a la memoria…
train-doing-compile = compilando…
train-doing-sampling = { $last } iteraciones hechas: generando un texto de muestra…
train-doing-waiting = esperando a que el último checkpoint llegue al disco…
train-opening-what = Un GPT pequeño aprende Python con la biblioteca estándar, en unos minutos.
train-opening-when = { $iterations } iteraciones en { $device }; cada { $interval }, evaluación y checkpoint en { $folder }.
train-opening-end = Al final: lo que ya escribe y en qué se fue el tiempo. Ctrl-C lo guarda.
train-sample-before = Lo que escribe antes de haber aprendido nada:
train-sample = Lo que escribe después de { $iteration } iteraciones:
train-ledger = En qué se fue el tiempo ({ $wall }, { $iterations } iteraciones):
train-phase-data = lectura de datos
train-phase-forward = forward
train-phase-backward = backward
train-phase-optimizer = optimizador
train-phase-device = espera del dispositivo
train-phase-evaluation_train = evaluación, partición de entrenamiento
train-phase-evaluation_val = evaluación, partición de validación
train-phase-checkpoint_staging = checkpoint: copia a memoria
train-phase-checkpoint_waiting = checkpoint: espera a que termine la escritura
train-phase-logging = escritura del log
train-phase-gc = recolector de basura
train-phase-compile = compilación
train-phase-startup = arranque
train-phase-sampling = generación de muestras
train-phase-other = otras
train-saves = { $count ->
    [one] Un checkpoint de { $size } MB, escrito en { $written } en segundo plano; el entrenamiento se detuvo { $stalled }.
   *[other] { $count } checkpoints de { $size } MB cada uno, escritos en { $written } en segundo plano; el entrenamiento se detuvo { $stalled }.
  }
train-saved-wait = Esperar al disco habría costado { $saved } más.
train-interference = Las iteraciones hechas durante una escritura tardaron { $ratio } veces lo que las demás.
train-more = El checkpoint y los logs están en { $folder }. Para seguir:
train-stopped = { $signal }: entrenamiento detenido antes de la iteración { $iteration } y guardado. Para reanudarlo: { $command }
train-no-wandb = wandb_log está activado, pero wandb no está instalado (pip install wandb). El entrenamiento sigue; sus métricas están en steps.jsonl, en la carpeta de la ejecución.
train-no-tensorboard = tensorboard está activado, pero TensorBoard no está instalado (pip install tensorboard). El entrenamiento sigue; sus métricas están en steps.jsonl, en la carpeta de la ejecución.
train-no-tracker = No se pudo iniciar { $name } ({ $reason }). El entrenamiento sigue sin él.
train-kept = Los logs y el mejor checkpoint de la ejecución anterior de esta carpeta están ahora en { $folder }.
train-unknown-setting = { $setting }, en { $path }, no es un ajuste de este programa y no tiene efecto.
train-bf16-crashes = bfloat16 falla en esta CPU (probado en un proceso hijo): se entrena en float32.
train-bf16-faster = bfloat16 tarda { $ratio } veces lo que float32 en esta CPU (probado en un proceso hijo): se entrena con él; --dtype=float32 para la precisión completa.
train-bf16-slower = bfloat16 tarda { $ratio } veces lo que float32 en esta CPU (probado en un proceso hijo): se entrena en float32.
train-cuda-only = { $dtype } solo funciona en CUDA: se entrena en float32 en { $device }.
train-staging = Los checkpoints mantienen una copia de { $size } GB en la RAM para que el entrenamiento no espere al disco (--staging=False espera y no mantiene ninguna).
train-staging-tight = Los checkpoints mantienen una copia de { $size } GB en la RAM y solo quedan { $left } GB libres. Con --staging=False no hay copia y el entrenamiento espera al disco.
train-broken-checkpoint = El checkpoint está incompleto, se prueba el anterior: { $path } ({ $reason }).
train-from-checkpoint = { $setting } es { $value } en el checkpoint, que prevalece sobre { $asked }.
train-other-batches = Los batches no son los del checkpoint (cambian los tamaños, la evaluación o el número de procesos): el orden de los datos empieza de nuevo.
train-save-failed = ALARMA: el checkpoint de la iteración { $iteration } no se escribió: { $reason }. El entrenamiento sigue; el checkpoint anterior está intacto.
data-ready = { $folder }: { $train } tokens para entrenar, { $val } para validar
data-use = Para usarlo: { $command }
data-download = Descargando { $url }…
train-shard-alone = shard no tiene efecto con un solo proceso: torchrun inicia varios.
selftest-begins = Probando { $count } partes del programa en { $device }:
selftest-pass = bien
selftest-fail = FALLO
selftest-ends = { $failed ->
    [0] Todas las partes funcionan.
    [one] Falla { $failed } de { $count } partes.
   *[other] Fallan { $failed } de { $count } partes.
}
selftest-precision = pérdida { $loss } en { $dtype }, { $other } en float32
selftest-compile = pérdida { $loss } compilado, { $other } sin compilar
selftest-memory = una evaluación de { $sequences } secuencias necesita { $evaluation } MB, un paso de entrenamiento { $step } MB
selftest-clock = { $steps } iteraciones suman { $counted } s, el bucle tardó { $loop } s
selftest-checkpoint = { $differing } tensores difieren de los del momento del checkpoint; la parada más larga fue de { $stall } s
selftest-resume = difieren { $differing } de { $steps } valores de pérdida y { $tensors } tensores frente al entrenamiento sin interrupción
selftest-sample = { $tokens } tokens, los mismos las dos veces
selftest-muon = valores singulares de una actualización entre { $least } y { $most } en { $dtype }
selftest-processes = dos procesos por { $backend }: la pérdida difiere de la de un proceso en { $worst }
selftest-shard = dos procesos con shards por { $backend }: la pérdida difiere de la de un proceso en { $worst }
export-done = { $path }: { $size } MB, antes de la iteración { $iteration }
error-train-no-slices = aquí no hay ningún checkpoint dividido en shards
    .hint = train --shard=True escribe uno, en una carpeta con ese nombre; ckpt.pt no hace falta exportarlo
error-train-no-torch = para entrenar hace falta PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } espera un valor de tipo { $wanted }
    .hint = por ejemplo: --{ $setting }=… con un { $wanted }, como en nanoGPT
error-train-choice = valor no válido para { $setting }
    .hint = elige entre: { $known }
error-train-range = { $setting } está fuera de rango
    .hint = el mínimo es { $least }; dropout, beta1 y beta2 deben ser menores que 1
error-train-heads = n_embd debe ser múltiplo de n_head
    .hint = por ejemplo: --n_embd=384 --n_head=6
error-train-odd-head = las posiciones rotatorias (RoPE) necesitan cabezas de dimensión par (n_embd / n_head)
    .hint = por ejemplo: --n_embd=384 --n_head=6, o --recipe=nanogpt
error-train-gpt2-recipe = los pesos de GPT-2 solo valen para la red de GPT-2
    .hint = --recipe=nanogpt
error-train-unknown-character = el corpus no contiene { $character }
    .hint = empieza con caracteres que la red haya visto
error-train-not-saved = el entrenamiento ha terminado, pero su último checkpoint (iteración { $iteration }) no se escribió: { $reason }
    .hint = { $saved ->
        [0] no hay ningún checkpoint: libera espacio y vuelve a entrenar
       *[other] el checkpoint completo más reciente es el de la iteración { $saved }: libera espacio y continúa desde él con --init_from=resume
      }
error-train-bad-meta = meta.pkl no es de nanoGPT: { $reason }
    .hint = créalo de nuevo: stepscope data prepare ARCHIVO
error-train-no-data = no hay ningún dataset con ese nombre
    .hint = créalo con stepscope data prepare ARCHIVO --out data/{ $name }, o indica una carpeta con train.bin y val.bin: --dataset=CARPETA
error-train-short-data = { $tokens } tokens son pocos para secuencias de { $block_size }, o el archivo no contiene tokens de 16 bits
    .hint = usa más texto o un --block_size menor
error-train-unreadable = no se puede leer: { $reason }
    .hint = comprueba el nombre y los permisos
error-train-vocabulary = el token { $token } no cabe en un vocabulario de { $vocab_size }
    .hint = los datos no son los de este checkpoint o meta.pkl: indica el --dataset correcto, o empieza con --init_from=scratch
error-train-no-tiktoken = el BPE de GPT-2 necesita tiktoken
    .hint = { $install }, o --tokens char
error-train-tiktoken-download = tiktoken no pudo descargar las tablas de GPT-2 ({ $reason })
    .hint = cópialas de una máquina que las tenga y define TIKTOKEN_CACHE_DIR, o --tokens char
error-train-no-stdlib = este Python no trae el código fuente de su biblioteca estándar
    .hint = prepara un texto propio: stepscope data prepare ARCHIVO
error-train-no-safetensors = los pesos de GPT-2 necesitan safetensors
    .hint = { $install }
error-train-bad-gpt2 = no es una carpeta de pesos de GPT-2: { $reason }
    .hint = contiene config.json y model.safetensors tal como los publica Hugging Face
error-train-no-gpt2 = no hay pesos de { $name } aquí, y no se descarga nada
    .hint = hf download openai-community/{ $name } --local-dir { $name }, y luego --gpt2_folder={ $name }
error-train-no-checkpoint = no hay ningún checkpoint del que partir
    .hint = indica su carpeta con --out_dir, o empieza con --init_from=scratch
error-train-no-whole-checkpoint = no hay ningún checkpoint completo: { $reason }
    .hint = empieza con --init_from=scratch, o copia ahí uno completo
error-train-bad-checkpoint = el checkpoint no es compatible: { $reason }
    .hint = tiene que ser de este programa o del train.py de nanoGPT
error-train-block-size = la red cargada lee { $block_size } tokens como máximo
    .hint = --block_size={ $block_size } o menos
error-train-accumulation = { $processes } procesos no pueden repartirse por igual ese número de micro-batches
    .hint = haz que gradient_accumulation_steps sea múltiplo de { $processes }
error-train-memory = sin memoria
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } entrena con los mismos tokens y menos memoria; o reduce block_size, n_layer o n_embd
error-train-rank-lost = otro proceso de la ejecución ha desaparecido: { $reason }
    .hint = revisa su salida y vuelve a lanzarlos todos con --init_from=resume
error-selftest-alone = --selftest no admite más ajustes que --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile falló: { $reason }
    .hint = --compile=False entrena sin él
error-train-nan = la pérdida es { $value } en la iteración { $iteration }: entrenamiento detenido
    .hint = prueba con un learning_rate menor o con más warmup_iters; ckpt.pt, si existe, es anterior y sirve: --init_from=resume
error-sample-no-meta = los caracteres de esta red están en meta.pkl de su carpeta de datos, que no está aquí
    .hint = ejecútalo donde se entrenó: en la carpeta que contiene data/{ $name }
error-train-locked = otro entrenamiento está usando esta carpeta (proceso { $process })
    .hint = usa una carpeta distinta para cada ejecución: --out_dir=CARPETA
error-train-misspelt = no existe el ajuste { $setting }
    .hint = ¿querías decir { $meant }?
error-train-out-dir = no se puede escribir ahí: { $reason }
    .hint = indica otra carpeta
error-train-device = no existe ese dispositivo
    .hint = --device=cpu, cuda, cuda:1 o mps
error-train-no-device = PyTorch no encuentra ningún dispositivo { $name } aquí
    .hint = --device=cpu --compile=False
error-train-config-expression = el valor de { $setting } solo se sabría ejecutando el archivo, y los archivos de configuración se leen, no se ejecutan
    .hint = escribe el propio valor, o quita la línea y pásalo como opción: --{ $setting }=…
error-data-too-many-characters = { $count } caracteres distintos son demasiados para tokens de 16 bits
    .hint = --tokens gpt2
error-data-empty = no contiene texto
    .hint = indica un archivo con texto; un archivo .jsonl tiene un documento por línea en "text"
error-data-not-text = no es un texto en UTF-8
    .hint = conviértelo antes, por ejemplo con iconv
error-data-bad-record = no es un registro JSON con "text"
    .hint = un documento por línea, con la clave text
error-data-no-download = la descarga falló: { $reason }
    .hint = consigue el archivo de otro modo e indícalo: stepscope data prepare shakespeare input.txt
error-data-openwebtext = OpenWebText ocupa 54 GB y no se descarga aquí
    .hint = expórtalo como .jsonl con un "text" por línea e indica los archivos: stepscope data prepare openwebtext part-*.jsonl

## En directo

live-now = ahora
live-left = fin
live-steps = iteraciones
live-time = tiempo
live-loss = pérdida
live-waiting = esperando las primeras líneas ({ $duration })
live-warmup = arrancando (compilación, { $duration }); después habrá pronóstico
live-training = entrenando, última línea hace { $duration }
live-evaluation = evaluando desde hace { $duration }
live-checkpoint = guardando desde hace { $duration }
live-stalled = sin salida desde hace { $duration }: ¿bloqueada?
live-closing = todas las iteraciones están hechas, pero el proceso sigue en marcha
live-finished = completada
live-ended = terminada
live-usual = (suele tardar { $duration })
alarm-stall = Sin salida desde hace { $duration } (lo normal: { $usual }; límite: { $limit }). Mira el proceso: stepscope attach PID
run-kept = Guardado en { $folder }. Informe completo: stepscope { $folder }
run-kept-partly = Guardado en { $folder }, salvo { $count ->
    [one] un byte
   *[other] { $count } bytes
  } de salida que no se pudieron escribir en el disco. Informe completo: stepscope { $folder }
alarm-disk = Ya no se puede escribir el log en { $folder }: { $reason }. El comando sigue y su salida se muestra aquí hasta el final.
alarm-recording-gone = { $folder } se ha borrado: se ha perdido lo grabado. El comando sigue y su salida se muestra aquí hasta el final.
error-run-not-started = no se pudo iniciar el comando
    .hint = el log que está al lado explica el motivo
error-run-no-code = el comando ha terminado, pero no se conoce su código de salida: los procesos que lo vigilaban murieron
    .hint = el log acaba con su última salida: stepscope { $place }
error-run-what = falta el comando que hay que ejecutar
    .hint = por ejemplo: stepscope run -- python train.py
error-needs-posix = esto solo funciona en Linux y macOS
    .hint = stepscope watch train.log     sigue un log en cualquier sistema
error-needs-extra = esto necesita el extra { $extra }
    .hint = { $install }
error-bad-address = no es una dirección válida para avisos
    .hint = por ejemplo: --notify mailto://user:pass@example.org
error-bad-interval = --interval espera segundos, de 0.05 a 3600
    .hint = por ejemplo: --interval 2
error-watch-one-log = solo un log a la vez
    .hint = sigue la parte más reciente de la ejecución
live-place = en { $place }
attach-log = su log: { $path }
attach-no-stack = No se puede ver la pila ({ $reason }). Ejecútalo como el mismo usuario, o permítelo: sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = no existe ese proceso
    .hint = pgrep -af python     muestra los que están en marcha
error-process-not-ours = este proceso es de otro usuario
    .hint = ejecútalo como ese usuario: sudo -u USUARIO stepscope attach { $place }
error-process-without-log = este proceso escribe en una terminal o un pipe, no en un archivo
    .hint = indica su log: stepscope attach { $pid } --log train.log; o inícialo con: stepscope run -- COMANDO
error-bad-speed = --speed espera un número mayor que 0
    .hint = por ejemplo: --speed 50
error-replay-file = solo se puede reproducir un archivo
    .hint = guárdalo antes: cat > train.log
## Causas

cause-accumulation = acumulación
cause-announced = trabajo anunciado
cause-async-checkpoint = checkpoint asíncrono
cause-attention = kernels lentos
cause-denormals = números denormales
cause-heat = calor
cause-interruption = interrupción
cause-leak = coste creciente
cause-length = batch más largo
cause-logging = escritura del log
cause-memory = memoria llena
cause-neighbour = otro programa
cause-optimizer = trabajo periódico del optimizador
cause-power = límite de potencia
cause-profiler = profiler
cause-recompile = recompilación
cause-schedule = cambio programado
cause-straggler = rank lento
cause-c01-evidence = incluye una evaluación de { $duration }
cause-c01-rest = la línea de la evaluación indica { $duration }; en este log cada evaluación tarda { $rest } más
cause-c01-beside = está junto a la línea de una evaluación, como la mayoría de las evaluaciones de este log: { $duration } más
cause-c01-period = se repite con el intervalo de las evaluaciones, cada { $every } iteraciones ({ $count } veces), aunque ninguna línea lo indica
cause-c02-evidence = incluye un checkpoint de { $duration }
cause-c02-period = se repite con el intervalo de los checkpoints, cada { $every } iteraciones ({ $count } veces), aunque ninguna línea lo indica
cause-c03-evidence = viene justo después de un checkpoint, y al { $share } de los { $count } checkpoints les siguen iteraciones lentas
cause-c04-evidence = entre las primeras iteraciones del proceso: { $duration } de compilación y primer uso de la GPU
cause-c05-evidence = la primera evaluación tardó { $own }; las { $count } siguientes, { $others }
cause-c05-level = el cambio empieza justo después de la primera evaluación, antes de la iteración { $step }
cause-c06-partial = la última iteración de una época de { $count }: un batch parcial tiene otra forma
cause-c06-fading = una de { $count } iteraciones lentas cada vez menos frecuentes, el { $share } de ellas en el primer cuarto: cada vez aparecen menos formas nuevas
cause-c06-level = el cambio empieza con una única iteración muy lenta, la { $step } ({ $duration } más)
cause-c08-printed = una línea indica que el recolector de basura tardó { $duration }
cause-c08-evidence = { $count } iteraciones tardan de más casi lo mismo, { $duration } (± { $share }), sin intervalo fijo, lo que es típico del recolector de basura de Python
cause-c09-twins = las iteraciones lentas se repiten cada { $first } y cada { $second } iteraciones, dos ritmos entrelazados: los ranks llegan al final de un shard de datos con un paso de diferencia
cause-c09-tokens = cada { $every } iteraciones: un shard de { $shard } tokens a { $tokens } por iteración
cause-c09-evidence = cada { $every } iteraciones, que no es un número entero, { $count } veces: típico de shards de datos que se acaban
cause-c09-whole = cada { $every } iteraciones: puede ser el final de un shard de datos
cause-c10-evidence = exactamente cada { $every } iteraciones, siempre con un retraso de { $duration } aproximadamente: trabajo programado del optimizador
cause-c11-workers = la distancia entre iteraciones lentas coincide con el número de procesos de carga, { $count }
cause-c11-evidence = cada { $every } iteraciones, con retrasos variables (± { $share }): típico de ese mismo número de procesos de carga que no dan abasto
cause-c12-evidence = la primera iteración de una época de { $steps }; el { $share } de las { $count } épocas empieza con lentitud
cause-c12-period = al pasar de una época de { $steps } iteraciones a otra ({ $count } veces): los procesos de carga se reinician
cause-c13-evidence = las iteraciones pasaron a ser un { $share } más rápidas al principio de la ejecución (al { $done }) y así siguieron, lo que es típico de datos que quedan en caché tras la primera lectura
cause-c14-evidence = durante esta iteración se pidió un archivo que tardó { $own } en llegar; los otros { $count } tardan { $usual }
cause-c16-more = { $count } reintentos de reserva de memoria en su ventana; lo normal son { $usual }
cause-c16-usual = { $count } reintentos de reserva de memoria en su ventana, pero { $usual } también en las demás: ralentizan todas las ventanas, no solo esta
cause-c17-full = un { $change } más lento, de golpe y de forma permanente, con el { $share } de la memoria de la GPU en uso: puede que parte haya pasado a la RAM
cause-c17-evidence = un { $change } más lento, de golpe y de forma permanente: en Windows o WSL es lo que pasa cuando se llena la memoria de la GPU
cause-c18-evidence = un { $change } más lento, con una subida gradual que luego se estabiliza: típico de una GPU que alcanza su temperatura de trabajo
cause-c18-follows = un { $change } más lento, y las evaluaciones en la misma proporción: todo el cálculo se ha ralentizado
cause-c19-pinned = la GPU consume el { $share } de su límite de potencia
cause-c19-evidence = un { $change } más lento y constante: compatible con un límite de potencia o de frecuencia
cause-c20-window = un { $change } más lento, con principio y fin bruscos, y después de vuelta al nivel anterior: probablemente otro trabajo compartió la máquina durante un tiempo
cause-c20-back = un { $share } más rápido, de vuelta a un nivel anterior: probablemente ha terminado otro programa en la máquina
cause-c20-evidence = un { $change } más lento, de golpe: puede que otro programa haya empezado a usar la GPU o la máquina
cause-c20-burst = una de { $count } iteraciones lentas de duración variable en { $steps } líneas: puede que la máquina esté compartida
cause-c21-evidence = el rank más lento tardó { $slowest } y el más rápido, { $fastest }: los demás esperaron al lento
cause-c22-evidence = una sola pausa de { $duration } entre iteraciones de { $level }: máquina suspendida, o proceso bloqueado o colgado
cause-c24-evidence = cada { $every } iteraciones, un múltiplo del intervalo del log ({ $interval }), en una ejecución con iteraciones cortas
cause-c25-memory = { $count } micro-batches de { $batch } secuencias por iteración, con el { $share } de la memoria de la GPU en uso: cabría un batch mayor con menos micro-batches
cause-c25-small = { $count } micro-batches de { $batch } secuencias por iteración para un modelo de { $parameters } parámetros en una GPU: ¿estaba pensado para ocho?
cause-c26-attention = la cabecera avisa de atención lenta: todas las iteraciones se ejecutan sin kernel fusionado
cause-c26-dtype = la ejecución calcula en float32: los tensor cores de la GPU quedan sin usar
cause-c27-evidence = tenía { $factor } veces el trabajo habitual, y en esta ejecución el tiempo sigue al trabajo (correlación { $tied })
cause-c27-level = el trabajo por iteración se multiplicó por { $factor } al mismo tiempo
cause-c28-evidence = la primera iteración tras reanudar en la { $step }: cargar, compilar y saltar los datos ya vistos llevó { $duration }
cause-c29-evidence = un aumento constante del { $change } a lo largo de la ejecución, que no se estabiliza, típico de algo que crece con cada iteración
cause-c30-evidence = un aumento en la CPU: puede que haya números cercanos a cero que se han vuelto denormales
cause-c32-evidence = una línea anterior indica una traza del profiler
cause-c33-evidence = la primera iteración tras una evaluación; pasa lo mismo en el { $share } de las { $count } evaluaciones
cause-c33-period = la iteración que sigue a una evaluación es lenta { $count } veces, aunque el reloj de este log excluye las evaluaciones
cause-c34-evidence = un cambio del { $change } a lo largo de la ejecución, casi sin ruido (± { $noise }): lo más probable es que esté programado
cause-c35-evidence = el log indica que esperó { $duration } a sus datos
cause-c35-figure = esperó a sus datos { $own } por iteración, normalmente { $usual }
cause-c35-level = la espera de datos cambió al mismo tiempo, de { $before } a { $after } por iteración: el { $share } del cambio
cause-c36-evidence = sigue a una línea que precede a { $count } iteraciones, { $hits } de ellas lentas
cause-c36-evaluation = las evaluaciones precedidas de una línea así tardan { $own }; las demás, { $others } ({ $count } de ellas)
level-slower = Las iteraciones son un { $share } más lentas desde la { $step } ({ $duration }).
level-faster = Las iteraciones son un { $share } más rápidas desde la { $step } ({ $duration }).
level-candidate = Explicación más probable: { $cause } ({ $code }, { $confidence } de confianza): { $evidence }.
level-others = Otras explicaciones posibles: { $others }.
level-none = Nada en el log lo explica.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Cada { $every } iteraciones, una tarda { $duration } más ({ $count } veces hasta ahora): { $cause } ({ $code }).
slow-rhythm-maybe = Cada { $every } iteraciones, una tarda { $duration } más ({ $count } veces hasta ahora); nada lo explica con seguridad. Lo más probable: { $candidate }.
slow-rhythm-unknown = Cada { $every } iteraciones, una tarda { $duration } más ({ $count } veces hasta ahora); nada lo explica.
finding-line = Toda la ejecución: { $evidence } ({ $code }).
settle-stamps = Con marcas de tiempo en las líneas se distinguiría una pausa de la máquina de una iteración lenta: { $command }
settle-data = Si el log imprimiera cuánto espera cada iteración a su batch, se vería si los datos llegaron tarde.
settle-gpu = Con la salida de nvidia-smi mientras ocurre (aquí, con --nvidia-smi ARCHIVO) se verían el calor, la potencia, la memoria y los demás programas.
settle-gc = Con gc.disable() tras la primera iteración se vería si es el recolector de basura: las iteraciones lentas desaparecerían.
settle-ranks = Con el mismo log de cada rank se vería a cuál esperaron los demás.
settle-events = { $count } iteraciones lentas duran lo mismo, pero aún no se puede determinar su intervalo: harían falta { $enough }, aproximadamente.
why-title = Iteración { $step }
why-took = Tardó { $duration }; una iteración normal cercana tarda { $level }.
why-window = Su línea abarca { $count } iteraciones: { $duration } en total, { $mean } cada una; una normal cercana tarda { $level }.
why-normal = Es normal: el 90 % tarda { $span }.
why-raised = Es más que sus vecinas, pero no lo bastante para contar como lenta.
why-made-of = Se compone de: { $parts }.
why-cause = Causa: { $cause } ({ $code }, { $confidence } de confianza): { $evidence }.
why-unexplained = Sin explicar: ningún indicio de este log basta para explicar el tiempo de más ({ $duration }).
why-lines = Indicios en el log:
why-considered = También se consideró:
why-candidate = { $code } { $cause }, { $confidence }: { $evidence }
why-turned-down = Descartado:
why-not-marker = ninguna línea anterior indica una evaluación, un checkpoint, el recolector de basura ni una espera
why-not-first = no está entre las primeras iteraciones de su proceso
why-not-period = no se repite a intervalos fijos
why-not-epoch = no está al principio ni al final de una época
why-not-data = la espera de datos que imprime el log es ahí la habitual
why-not-work = no tenía más trabajo que otras
why-not-save = no hay ningún checkpoint poco antes
why-not-pause = es demasiado corta para una máquina suspendida
why-periodic = Se repite cada { $every } iteraciones, { $count } veces en este log.
why-neighbours = A su alrededor: { $items }.
why-neighbour = { $step }: { $duration }
why-settle = Cómo averiguarlo:
why-unprinted = La iteración { $step } no tiene línea propia. Las más cercanas:
why-unprinted-normal = Las iteraciones sin línea se dan por normales: { $level } cada una.
why-inside = La iteración { $step } es una de las que abarca la línea de la iteración { $line_step }.
why-no-time = La línea de la iteración { $step } no indica ningún tiempo.
why-page = Más detalles: stepscope doc { $code }
error-no-such-step = el log no tiene la iteración { $step }
    .hint = va de { $first } a { $last }
error-bad-step = el número de iteración debe ser entero
    .hint = por ejemplo: stepscope why train.log 500
alarm-files-order = { $by ->
    [stamps] Los archivos se leyeron en el orden de sus marcas de tiempo: { $paths }
   *[other] Los archivos se leyeron en el orden de sus iteraciones: { $paths }
  }
alarm-files-repeated = { $count ->
    [one] Este archivo contiene las mismas líneas que otro y se dejó fuera: { $paths }
   *[other] Estos archivos contienen las mismas líneas que otros y se dejaron fuera: { $paths }
  }
## Logs de formato desconocido

section-inferred = Cómo se leyó este log
inferred-intro = Ningún formato conocido reconoce este log, así que se leyó por su estructura ({ $confidence } de confianza):
inferred-item = { $text } ({ $confidence } de confianza)
inferred-teach = Para corregirlo: stepscope formats try { $path } --suggest > my.toml, edita my.toml y añade --format-file my.toml
infer-step = «{ $text }» se interpreta como la iteración: un número entero que crece de línea en línea.
infer-step-epoch = «{ $epoch }» se interpreta como la época y «{ $batch }» como la iteración dentro de ella: empieza de nuevo en cada época.
infer-step-is-epoch = «{ $text }» se interpreta como la iteración: cuenta las épocas.
infer-step-word = «{ $text }» se interpreta como la iteración.
infer-time-mean = «{ $text }» se interpreta como una media desde la primera iteración, en { $unit }: baja de línea en línea mientras su suma crece, así que cada iteración se calcula a partir de ella.
infer-time-none = Ningún número de estas líneas se ha reconocido como una duración.
infer-time-stamps = Los tiempos son las diferencias entre las marcas de tiempo de las líneas.
infer-time-of-all = Solo está impreso que el conjunto duró { $total }: a cada iteración se le asigna la media, con todo lo que hubo entre medias.
infer-time-step = «{ $text }» se interpreta como el tiempo de una iteración, en { $unit }.
infer-time-total = «{ $text }» se interpreta como el tiempo de todas las iteraciones desde la línea anterior, en { $unit }.
infer-time-clock = «{ $text }» se interpreta como un reloj que avanza de línea en línea, en { $unit }.
infer-time-rate = «{ $text }» se interpreta como iteraciones por segundo.
infer-time-work = «{ $text }» se interpreta como el trabajo por segundo, y «{ $amount }» como el trabajo por iteración.
infer-because-stamps = Concuerda con las marcas de tiempo.
infer-because-clock = Concuerda con el reloj de la misma línea.
infer-because-rate = Concuerda con la velocidad de la misma línea.
infer-because-left = Concuerda con el tiempo restante que imprime la línea.
infer-because-total = Sumado, da el tiempo total que indica el log al final.
infer-because-growth = El valor crece lo mismo en cada iteración, como un reloj.
infer-because-spacing = Lo confirman las líneas que abarcan más o menos iteraciones que las demás.
infer-because-meter = Le sigue su media entre paréntesis, como en un medidor que se actualiza en cada iteración.
infer-because-amounts = Con una unidad más corta, los otros contadores de la línea subirían más rápido de lo que permite cualquier máquina.
infer-because-unit = Su unidad está impresa; nada más en el log lo confirma.
infer-because-name = Su nombre lo sugiere; nada en el log confirma que cuente segundos.
infer-because-size = No lleva unidad; para un número de este tamaño, lo más probable son segundos.
infer-total = «{ $text }» se interpreta como el número de iteraciones.
infer-batches = «{ $text }» se interpreta como las iteraciones por época.
infer-evaluation = Las líneas como «{ $text }» se interpretan como evaluaciones.
infer-checkpoint = Las líneas como «{ $text }» se interpretan como checkpoints.
infer-step-counted = Las líneas como «{ $text }» no llevan número: cada una cuenta como una iteración.
infer-step-bar = La barra «{ $text }» se interpreta como la del entrenamiento: sus líneas son las iteraciones.
infer-time-bar = Los tiempos son los del reloj de la barra, en segundos enteros; la velocidad que muestra está suavizada y no se usa.
infer-bars-are-epochs = La barra empieza { $count } veces; cada una se interpreta como una época.
infer-step-batch = «{ $text }» se interpreta como el batch dentro de una época; empieza de nuevo { $count } veces, y cada una se interpreta como una época.
infer-doubt-interval = «{ $text }» puede ser el tiempo de una iteración o el de las { $count } desde la línea anterior ({ $each } cada una). Nada en el log indica cuál, así que no se leyó ningún tiempo.
infer-doubt-unit = «{ $text }» no lleva unidad y puede ser el tiempo de una iteración o de varias ({ $count } desde la línea anterior). Nada en el log indica cuál, así que no se leyó ningún tiempo.

## Comparar ejecuciones

compare-slower = La segunda ejecución tarda un { $share } más: { $before } → { $after } { $unit }.
compare-faster = La segunda ejecución tarda un { $share } menos: { $before } → { $after } { $unit }.
compare-same = Las dos ejecuciones tardan lo mismo: { $before } { $unit }.
compare-span = { $low } a { $high }
compare-most = Fase que más pesa en la diferencia: { $phase } ({ $share }).
compare-most-offset = Fase que más pesa en la diferencia: { $phase }; otras compensan una parte.
compare-real = La diferencia en una iteración normal está entre { $low } y { $high } ({ $confidence } de confianza): es más que ruido.
compare-noise = La diferencia en una iteración normal está entre { $low } y { $high } ({ $confidence } de confianza): puede ser ruido.
compare-even-real = La diferencia en una iteración normal es del { $change }: es más que ruido.
compare-even-noise = La diferencia en una iteración normal es del { $change }: puede ser ruido.
compare-too-few = Hay muy pocas iteraciones normales para distinguir una diferencia del ruido.
compare-unit-steps = por cada 1000 iteraciones
compare-unit-tokens = por cada millón de tokens
compare-settings-same = Los ajustes son los mismos, por lo que se ve en los logs.
compare-settings = Ajustes distintos: { $settings }
compare-no-times = { $path }: no hay ninguna iteración con tiempo que comparar.
compare-no-tokens = No todos los logs indican sus tokens: se comparan por iteraciones.
error-compare-needs-two = compare necesita dos logs o más
    .hint = por ejemplo: stepscope compare old.log new.log

## La página

page-strip-hint = Arrastra para ampliar, doble clic para verlo todo; un clic fija los valores, con el enlace a la línea del log. Con la cronología seleccionada: + y − o la rueda cambian el zoom, las flechas desplazan, N y P van de una parada a otra, Inicio lo muestra todo.
page-whatif = ¿Y si…?

## La aplicación web

web-all-runs = todas las ejecuciones
web-compare = Comparar
web-no-runs = No hay ningún log de entrenamiento en esta carpeta.
web-paste = Otro log
web-paste-hint = Pega aquí líneas de un log, o suelta un archivo sobre esta página. Se queda en memoria y no se guarda.
web-explain = Explicar
serve-hint = Pulsa Ctrl-C para detenerlo. El enlace contiene tu token de acceso.
error-serve-needs-token = el acceso desde otras máquinas requiere un token propio
    .hint = por ejemplo: openssl rand -hex 16 > token.txt, luego --host 0.0.0.0 --token-file token.txt
error-bad-token = no es un token válido
    .hint = una palabra de letras y cifras, por ejemplo: openssl rand -hex 16 > token.txt
error-bad-allow-host = no es un nombre de host ni una dirección válidos
    .hint = por ejemplo: --allow-host logs.example.com o --allow-host localhost:9000
error-bad-port = no es un puerto válido
    .hint = por ejemplo: --port 8000
error-cannot-listen = no se puede escuchar ahí: { $reason }
    .hint = usa otro puerto, o ninguno para uno libre
alarm-unexplained = Tiempo sin explicación en el log entre las iteraciones { $before } y { $step }: { $duration }.
clocks-differ = Las marcas de tiempo abarcan { $stamps }; los tiempos impresos, solo { $printed } (diferencia: { $rest }).
## Formatos que enseña el usuario

formats-words = Se comprueban las líneas que contienen alguno de estos textos: { $words }.
formats-try-gave-up = se detuvo en la línea { $line }, columna { $column }:
formats-try-others = { $count ->
    [one] Otro formato más no reconoce ninguna línea.
   *[other] Otros { $count } formatos no reconocen ninguna línea.
  }
formats-try-account = { $name }: { $share } de los indicios, { $steps } iteraciones, { $seconds }, { $unread } líneas sin leer
formats-try-behind = { $steps ->
    [one] { $name }: { $share } de los indicios, una línea con una iteración; no se probó más
   *[other] { $name }: { $share } de los indicios, { $steps } líneas con iteraciones; no se probó más
  }
formats-try-read-as = Se lee como { $name }: { $steps } iteraciones.
suggest-what = Un archivo de formato para Stepscope, hecho a partir de la estructura de { $path }.
suggest-where = Guárdalo en { $folder }, o indícalo: stepscope { $path } --format-file ARCHIVO
suggest-groups = Los grupos con nombre son valores: step o epoch y batch, total, loss; un tiempo es dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers es step, window (una media), cumulative o stamp; figure_is_total = true cuando el tiempo es el de todas las iteraciones desde la línea anterior.
suggest-none = Nada en este archivo cuenta iteraciones: lo que sigue es una plantilla para rellenar.
error-suggest-needs-file = --suggest necesita try y un archivo
    .hint = stepscope formats try run.log --suggest > mine.toml
error-no-such-format-file = no se puede leer el archivo de formato: { $reason }
    .hint = stepscope formats try run.log --suggest > mine.toml     escribe uno
error-format-file-too-large = demasiado grande para un archivo de formato
    .hint = ¿es el log? Entonces quita --format-file
error-format-file-not-text = el archivo de formato no es texto UTF-8
    .hint = guárdalo como UTF-8
error-format-file-syntax = el archivo de formato no es TOML: { $reason }
    .hint = un patrón va entre comillas simples: pattern = '…'
error-format-key-missing = falta { $field }
    .hint = stepscope formats try run.log --suggest     escribe un archivo con todo lo necesario
error-format-key-unknown = clave desconocida: { $field }
    .hint = elige entre: { $known }
error-format-key-type = { $field } tiene un valor de tipo incorrecto
    .hint = se espera: { $wanted }
error-format-bad-value = { $field } no puede ser { $value }
    .hint = uno de: { $known }
error-format-bad-pattern = el patrón no es una expresión regular válida: { $reason }
    .hint = un carácter especial literal necesita una barra invertida: \[ \( \. \|
error-format-slow-pattern = el patrón puede coincidir con algunas líneas de demasiadas maneras y podría no acabar nunca
    .hint = limita una de las repeticiones, por ejemplo { $example } en vez de + o *, o sepáralas: \S+ \S+ en lugar de .+ .+
error-format-unknown-group = valor desconocido: { $group }
    .hint = elige entre: { $known }
error-format-sample-missed = el patrón falla en la columna { $column } de su ejemplo: { $text }
    .hint = cambia el patrón o el ejemplo
error-format-no-step = ninguna línea es del tipo step
    .hint = un [[lines]] necesita kind = 'step' y un patrón con (?P<step>\d+)
error-broken-plugin = no se puede cargar el formato { $name } de otro paquete: { $reason }
    .hint = repara o quita ese paquete

## Visto desde dentro

inside-line = Medido dentro del proceso: { $items }.
inside-evaluation = { $count } × evaluación { $duration }
inside-checkpoint = { $count } × checkpoint { $duration }
inside-data = { $count } × espera de datos { $duration } (la más larga { $longest })
inside-gc = { $count } × recolector de basura { $duration } (la vez más larga { $longest })
inside-compile = { $count } × compilación { $duration }
inside-optimizer = { $count } × paso del optimizador { $duration }
inside-retry = { $count } × reintento de reserva de memoria
inside-step = { $count } × iteración { $duration } (la más larga { $longest })
inside-fetch = { $count } × carga de un batch { $duration } (la más larga { $longest })
inside-logging = { $count } × escritura del log { $duration }
inside-other = { $count } × { $kind } { $duration } (el más largo { $longest })
## Pronóstico

assume-like = { $count ->
    [one] El resto sigue una ejecución anterior del mismo programa, { $path }, a la velocidad de esta.
   *[other] El resto sigue { $count } ejecuciones anteriores del mismo programa, como { $path }, a la velocidad de esta.
}
assume-passes = La ralentización actual es reciente: se supone que durará más o menos otro tanto.
finish-ask = Vuelve a mirar después de la iteración { $step } (dentro de { $duration } aproximadamente).
finish-ask-step = Vuelve a mirar después de la iteración { $step }.
deadline-chance = Plazo: { $time }. Probabilidad de terminar a tiempo: { $share }.
deadline-sure = Plazo: { $time }. Casi seguro que termina a tiempo.
deadline-hardly = Plazo: { $time }. Es casi imposible que termine a tiempo.
error-bad-deadline = no es una hora válida: { $text }
    .hint = por ejemplo: --deadline 08:00, --deadline 2025-11-15T08:00 o segundos Unix
error-like-format = el log es de otro programa: { $its }, no { $own }
    .hint = --like necesita un log completo del mismo programa
error-like-short = esa ejecución termina en la iteración { $last }, antes de las { $total } de esta
    .hint = --like necesita un log completo del mismo programa

advice-a106-costs = Las mismas secuencias en { $batches } batches de { $size }. Hay que editar la evaluación.
advice-a106-evidence = Una evaluación usa { $batches } batches de { $size }, y a la GPU le sobra memoria para otros mayores.
advice-a110-costs = Espacio en disco para la caché.
advice-a110-evidence = La ejecución se inició { $count } veces; el calentamiento costó { $duration } en total.
advice-a115-costs = La pérdida solo se imprime cada { $count } iteraciones.
advice-a115-evidence = Cada iteración de { $duration } espera a que su pérdida se lea y se imprima.
advice-a116-costs = Un PyTorch más nuevo; los resultados solo difieren en el redondeo.
advice-a116-evidence = El programa avisa al arrancar de que no usa atención fusionada.

## Página, aplicación y otras herramientas

error-binary-to-terminal = un archivo { $name } no se puede mostrar en una terminal
    .hint = escríbelo en un archivo: -o informe.{ $name }
## Consejos: precisión, supuestos, checkpoints y disco

precision-same = El error estándar de la pérdida de validación sigue en { $error }.
precision-same-seen = El error estándar de la pérdida de validación sigue en { $error }; entre evaluaciones la pérdida baja { $gain } aproximadamente, así que la tendencia se sigue viendo.
precision-same-unseen = El error estándar de la pérdida de validación sigue en { $error }; entre evaluaciones la pérdida baja { $gain } aproximadamente, demasiado poco para que se vea en una sola.
advise-rounding = El mismo entrenamiento, salvo el redondeo.
advise-draws = El mismo entrenamiento, salvo que los batches aleatorios serán otros.
advise-assumed = Supuesto, a partir de casos publicados: { $cases }
change-frees = { $change }: libera { $size } GB de disco
change-together = Todos los cambios juntos ahorran { $duration } aproximadamente: { $after } en vez de { $before }.
change-eval-interval = evaluar cada { $proposed } iteraciones en vez de cada { $now }
change-checkpoint-interval = guardar cada { $proposed } iteraciones en vez de cada { $now }
change-log-interval = imprimir cada { $proposed } iteraciones en vez de cada { $now }
change-eval-iters = { $proposed } batches por evaluación en vez de { $now }
change-none-few = No hay nada que merezca la pena cambiar: las evaluaciones y los checkpoints ocupan el { $share } del tiempo, pero ya son tan pocos que no sobra ninguno.
change-none-seen = No hay nada que merezca la pena cambiar: el log no muestra evaluaciones ni ningún otro coste evitable.
change-no-steps = Sin recomendaciones: no se pudo leer ningún tiempo de iteración.
advice-a101-costs-seen = Se evalúa { $factor ->
    [2] la mitad de veces
   *[other] { $factor } veces menos
  }.
advice-a102-costs-flat = El error estándar de la pérdida de validación aumenta de { $before } a { $after }. La pérdida ya no baja entre evaluaciones: más batches tampoco mostrarían una mejora.
advice-a104-change = guardar solo cuando mejora la pérdida de validación
advice-a105-change = usar siempre los mismos batches de evaluación, { $proposed } en vez de { $now }
advice-a105-precision = El error de una diferencia entre dos evaluaciones pasa de { $before } a { $after } o menos.
advice-a106-costs-plain = Las mismas secuencias en batches de { $size }. Si te quedas sin memoria, deshaz el cambio.
advice-a106-evidence-plain = Las evaluaciones usan batches de { $size }, y a la GPU le sobra memoria para otros mayores.
advice-a106-change = batches de evaluación de { $proposed } en vez de { $now }
advice-a106-assumed = con batches de 2 a 10 veces mayores, el tiempo en una CPU quedó entre 0,84 y 1,12 veces el anterior; una GPU que espera entre kernels gana hasta un tercio.
advice-a107-change = evaluar en los { $count } ranks en vez de en uno
advice-a107-assumed = con cuatro GPU, una iteración con evaluación pasó de 20,5 a 8,7 s (issue 673 de nanoGPT).
advice-a108-costs-shorter = Más checkpoints; a cambio, un fallo cuesta como mucho { $duration } de trabajo.
advice-a108-evidence-accepted = Un checkpoint detiene el entrenamiento { $duration }. Con un fallo cada { $between }, la regla de Daly da { $best } como intervalo óptimo; aceptas perder { $accepted }.
advice-a109-change = guardar los checkpoints de forma asíncrona
advice-a109-assumed = de 27,3 s a 0,54 s con un modelo de 8B en ocho H100 (issue 635 de NeMo Automodel); en una CPU quedó el 16 % de la parada.
advice-a110-change = conservar la caché de compilación entre arranques
advice-a110-assumed = con la caché caliente, la primera iteración de nanoGPT tardó 2,3 s en vez de 26 s en una CPU; la carga y el primer uso se siguen pagando.
advice-a111-change = ejecutar el recolector de basura a mano, cada pocos miles de iteraciones
advice-a112-change = { $count } procesos de carga persistentes, con prefetch
advice-a112-change-prefetch = leer por adelantado el siguiente shard, en un hilo
advice-a112-assumed = una espera de 0,217 s por iteración bajó a 0,003 s con más procesos; si lo lento es el disco o la red, no cambia nada.
advice-a113-assumed = sin mejora en una GPU que ya está ocupada, hasta un 10 % en una que espera entre kernels; stepscope plan lo calcula para un modelo dado.
advice-a114-assumed = una V100 multiplica matrices a 9,9 TFLOPS en bfloat16 y a 100 o más en float16 (tablas públicas).
advice-a115-assumed = la línea de nanoGPT cuesta 0,3 ms en una CPU, nada si el bucle espera a la GPU de todos modos, y unos milisegundos con un cliente de métricas.
advice-a116-change = atención fusionada
advice-a116-assumed = GPT-2 en una A100 pasó de 130 a 96 ms por iteración; los contextos cortos ganan menos, los largos más.
advice-a117-change = AdamW fusionado
advice-a117-costs = No necesita más memoria; las sumas se redondean en otro orden. Requiere PyTorch 2.0 en CUDA, 2.4 en CPU.
advice-a117-evidence = El programa avisa al arrancar de que su optimizador no está fusionado.
advice-a117-assumed = 3 % con GPT-2 en una A100 (de 93 a 90 ms), entre 0 y 8 % con modelos pequeños en una CPU.
advice-a118-change = conservar los últimos { $count } checkpoints
advice-a118-costs = Solo se puede volver a los últimos { $count }; copia en otro sitio lo que quieras conservar.
advice-a118-evidence = { $count } checkpoints de { $each } GB cada uno, aproximadamente, y este programa los guarda todos: { $total } GB al final.
advice-a122-change = detener el entrenamiento en la mejor pérdida de validación (iteración { $step })
advice-a122-change-now = detener ya el entrenamiento: la mejor pérdida de validación fue la de la iteración { $step }
advice-a122-costs = Te quedas con el checkpoint de la mejor iteración, no con el último; guarda uno cada vez que mejore la pérdida de validación.
advice-a122-evidence = La pérdida de validación más baja fue la de la iteración { $step } ({ $loss }); las { $count } evaluaciones posteriores son peores.
safety-now = Entre dos checkpoints (cada { $interval } iteraciones) se arriesga hasta { $stake } de trabajo.
safety-within = Está dentro del límite que aceptas perder ({ $accepted }).
safety-beyond = Aceptas perder { $accepted }: guarda un checkpoint al menos cada { $needed } iteraciones.
safety-best = Con una parada de { $stall } por checkpoint y los reinicios que ha habido, según la regla de Daly se pierde menos con un checkpoint cada { $best } iteraciones.
disk-one = Este programa lo sobrescribe cada vez.
disk-all = Este programa los guarda todos: { $count } al final, { $total } GB.
error-bad-may-lose = --may-lose espera una duración
    .hint = por ejemplo: --may-lose 10min, 90s o 1h30m
error-change-twice = { $setting } se cambia dos veces
    .hint = indica un solo valor
error-unknown-change = ajuste desconocido
    .hint = ¿querías decir { $known }?

disk-each = Un checkpoint ocupa { $each } GB en disco, aproximadamente.
disk-some = Este programa conserva los últimos { $count }: { $total } GB.

error-bad-change-switch = { $setting } solo puede ser True o False
    .hint = por ejemplo: --change { $setting }=False

whatif-past = La ejecución ya va por la iteración { $step }, más allá de { $total }: ya habría terminado.

## La GPU

card-size-unknown = ¿Es normal que una iteración tarde { $duration } en la { $gpu }? Con un modelo de { $low } a { $high } M de parámetros, sí. El log no indica el tamaño de este modelo; añádelo para saberlo: --set parameters=124M.
page-zoom-in = Ampliar
page-zoom-out = Reducir
page-zoom-left = Mover a la izquierda
page-zoom-right = Mover a la derecha
page-zoom-all = Ver todo
page-normal = iteración normal
page-level = nivel de las iteraciones normales
page-tip = Iteración { $step }: { $took }
page-validation = pérdida de validación
page-fan = Iteraciones en el tiempo: hasta ahora, pronóstico y pronósticos anteriores
page-fan-past = hasta ahora
page-fan-ahead = pronóstico
page-fan-earlier = pronósticos anteriores
section-backtest = Pronósticos anteriores, comprobados
backtest-column-at = tras
backtest-column-said = pronóstico
backtest-column-range = intervalo
backtest-column-took = real
backtest-column-off = error
backtest-at = { $share }, iteración { $step }
backtest-summary = { $count ->
    [one] El pronóstico del tiempo hasta la iteración { $step }, recalculado con el log de entonces. Tiempos reales dentro del intervalo: { $held } de 1.
   *[other] Pronósticos del tiempo hasta la iteración { $step }, recalculados con el log de entonces. Tiempos reales dentro del intervalo: { $held } de { $count }.
}
page-tokens-rate = tokens por segundo, con evaluaciones y checkpoints incluidos
page-steps-rate = iteraciones por segundo, con evaluaciones y checkpoints incluidos
page-gpu = GPU
page-gpu-load = uso
page-gpu-memory = memoria
page-gpu-power = potencia
page-gpu-temperature = temperatura
cards-line = { $gpu }, { $count } muestras: { $items }.
cards-load = { $share } de uso medio
cards-memory = como mucho { $used } de { $total } GiB
cards-power = { $mean } W de media, como mucho { $most } W
cards-temperature = hasta { $degrees } °C
page-whatif-left = tiempo restante: { $duration }{ $range }
page-whatif-done = fin: { $time }
page-whatif-less = { $duration } menos que ahora
page-whatif-more = { $duration } más que ahora
page-whatif-evaluations = evaluaciones pendientes: { $number }
page-whatif-error = pérdida de validación ± { $error }
## Lo que dice la GPU mientras tanto

gpu-power-of = { $power } de { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } de { $most } MHz
gpu-held = frenada por { $reasons }
gpu-others = { $count ->
    [one] otro proceso en ella: { $names }
   *[other] otros { $count } procesos en ella: { $names }
}
throttle-power_cap = su límite de potencia
throttle-thermal = el calor
throttle-hw_slowdown = la protección del hardware
throttle-power_brake = la fuente de alimentación
throttle-sync_boost = la GPU más lenta de su grupo
live-gpu = GPU
alarm-near-oom = La GPU usa { $used } de { $total } GiB de memoria: la ejecución está a punto de quedarse sin ella. Un batch menor con más acumulación necesita menos.
alarm-slowdown-thermal = Las iteraciones son un { $share } más lentas desde la { $step }: antes { $before }, desde entonces { $after }. La GPU baja su frecuencia porque está demasiado caliente: revisa los ventiladores, el polvo y el flujo de aire.
alarm-slowdown-power = Las iteraciones son un { $share } más lentas desde la { $step }: antes { $before }, desde entonces { $after }. La GPU está en su límite de potencia: mira nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Las iteraciones son un { $share } más lentas desde la { $step }: antes { $before }, desde entonces { $after }. Hay otro proceso en la GPU: nvidia-smi muestra cuál.
alarm-slowdown-memory = Las iteraciones son un { $share } más lentas desde la { $step }: antes { $before }, desde entonces { $after }. La memoria de la GPU está llena y lo que no cabe puede pasar a la RAM: un batch menor ayuda.
alarm-finished = La ejecución ha terminado: iteración { $step }.
notify-failed = { $count ->
    [one] No se pudo enviar un mensaje; revisa la dirección de --notify.
   *[other] No se pudieron enviar { $count } mensajes; revisa la dirección de --notify.
}
live-log = log
live-next = luego
live-advice = consejo
live-next-evaluation = evaluación en la iteración { $step }, dentro de { $duration }
live-chart-steps = tiempo por iteración
live-chart-loss = pérdida { $loss }
live-chart-losses = pérdida { $loss } · ● validación { $val }
live-gpu-load = uso de la GPU
live-gpu-memory = memoria de la GPU

## El plan, GPU por GPU

plan-title-asked = Con los ajustes dados
plan-title-proposed = Ajustes recomendados
plan-now = ahora
plan-row-evaluations = evaluaciones
plan-row-saved = ahorro
plan-keeps = Los mismos tokens por iteración: el mismo entrenamiento, salvo el redondeo y los batches aleatorios. Con menos batches de evaluación, la pérdida de validación es menos precisa. --write CARPETA escribe un archivo de configuración por GPU.
plan-keeps-not = Los mismos tokens por iteración, pero float16 donde la GPU no tiene bfloat16, lo que cambia ligeramente el entrenamiento. --write CARPETA escribe un archivo de configuración por GPU.
plan-note-from = Calibrado con el log: { $duration } por iteración en { $gpu }.

plan-row-sequences = secuencias por evaluación
plan-memory-other = otros, según lo medido
plan-model-derived = De { $low } a { $high } M de parámetros (estimación); se calcula con { $parameters }: { $layers } capas × { $hidden }, contexto { $context }, vocabulario { $vocabulary }

## Consejos: compilar, tipos, shards

change-scope-rest-one = Ahorro en lo que queda de esta ejecución.
change-scope-run-one = Ahorro en una ejecución como esta.
disk-each-span = Un checkpoint ocupa { $each } GB en disco, aproximadamente (de { $low } a { $high }).
advice-a112-costs-prefetch = RAM para un shard más.
advice-a112-assumed-prefetch = modded-nanogpt lee el siguiente shard en un hilo desde su récord 33; antes, cada cambio de shard costaba de 160 a 200 ms.
advice-a119-costs = La primera iteración tarda { $duration } más, aproximadamente. Pruébalo durante cien iteraciones: puede que un modelo pequeño no gane nada.
advice-a119-evidence = Según los ajustes, el modelo no se compila.
advice-a119-assumed = GPT-2 en una A100 pasó de 250 a 135 ms por iteración (README de nanoGPT); un modelo pequeño en una RTX 3080, de 44 a 48.
advice-a120-change = formas constantes: descartar el batch incompleto, o rellenarlo
advice-a120-costs = No se entrena con las secuencias del batch incompleto, o el relleno añade cálculo.
advice-a120-evidence = { $count } iteraciones de { $duration } en total parecen recompilaciones, el { $share } del tiempo.
advice-a121-costs = Precisión mixta: los pesos siguen en float32 y los productos se redondean a 16 bits; las pérdidas difieren ligeramente.
advice-a121-evidence = { $gpu } multiplica números de 16 bits muchas veces más rápido que los de 32, y esta ejecución usa float32.
advice-a121-assumed = GPT-2 en una A100 tardó 1000 ms por iteración en float32, 333 con TF32, 300 con bfloat16.
inside-skipped = Sin instrumentar, porque esta versión no lo admite: { $names }.
split-trace = La evaluación y el checkpoint se midieron dentro del proceso.
compare-title = Comparación de ejecuciones
compare-section-each = Coste unitario
compare-section-why = Qué explica la diferencia: { $first } → { $other }
compare-section-settings = Ajustes distintos
compare-row-typical = iteración normal
compare-row-evaluation-each = una evaluación
compare-row-checkpoint-each = un checkpoint
compare-row-warmup = calentamiento en total
compare-row-stall = sin explicar en total
compare-row-wall = el log entero
web-runs = Las ejecuciones de esta carpeta
web-choose = Comparar
web-failed = El servidor no responde: ¿sigue en marcha?

change-eval-epochs = evaluar cada { $proposed } épocas (ahora: { $now })

error-plan-from-impossible = una { $gpu } no puede ser tan rápida: con este modelo, las iteraciones del log llegarían al { $share } de su máximo
    .hint = revisa --params, --context, --from-gpu, y batch_size y gradient_accumulation_steps

advice-a108-costs-unseen = Un fallo puede costar hasta { $duration } de trabajo. Aún no ha habido ninguno; se supone uno por semana.

warning-unknown-card = aviso: GPU desconocida ({ $name }), así que no se puede decir nada de su máximo; se conocen por ejemplo { $known }: stepscope doc cards las muestra todas
warning-no-effect = aviso: { $flag } no tiene efecto en la vista en directo
error-too-large-inside = este archivo descomprimido ocupa más de { $size }
    .hint = descomprímelo y quédate con la parte que necesites: zcat file.gz | head -c 100M > parte.log

## Cuán segura es la lectura

section-reading = ¿Se ha leído bien este log?
reading-doubt = Esta lectura es dudosa ({ $confidence } de confianza): compruébala antes de fiarte de las cifras siguientes.
reading-doubt-below = El mayor coste, abajo, puede ser un tiempo mal leído.
reading-item = { $text } [{ $code }]
reading-settle = Para aclararlo: stepscope formats try { $path } muestra cómo lee este log cada formato; --format-file ARCHIVO lo lee con otro y --set clave=valor indica lo que el log no dice.
reading-agrees = Lectura: { $text }
reading-eta-doubt = dudoso: puede que este log no se haya leído bien. { $text }
audit-clocks-none = Un solo reloj: nada más en el log confirma sus tiempos.
audit-clocks-agree = { $name ->
    [stamps] comprobada con las marcas de tiempo, que coinciden ({ $used } y { $other }).
   *[other] comprobada con el total del propio log, «{ $name }», que coincide ({ $used } y { $other }).
  }
audit-clocks-differ = { $name ->
    [stamps] Los tiempos impresos suman { $used }; las marcas de tiempo de las mismas líneas, { $other }.
   *[other] Los tiempos leídos suman { $used }, pero el total del propio log, «{ $name }», es { $other }.
  }
audit-unread-counts-none = Ninguna línea sin leer lleva una cuenta creciente.
audit-unread-counts = { $count ->
    [one] Una línea que Stepscope no lee lleva una cuenta creciente, como la de las iteraciones: «{ $text }» (línea { $line }).
   *[other] { $count } líneas que Stepscope no lee llevan una cuenta creciente, como la de las iteraciones: «{ $text }» (desde la línea { $line }).
  }
audit-unread-times-none = Ninguna línea sin leer contiene tiempos de forma repetida.
audit-unread-times = { $count ->
    [one] Una línea que Stepscope no lee puede contener un tiempo o una pérdida: «{ $text }» (línea { $line }).
   *[other] { $count } líneas que Stepscope no lee pueden contener un tiempo o una pérdida: «{ $text }» (desde la línea { $line }).
  }
audit-evaluations-booked = Las evaluaciones están contabilizadas.
audit-evaluations-unread = { $count ->
    [one] Una línea parece una evaluación que no está contabilizada: «{ $text }» (línea { $line }).
   *[other] { $count } líneas parecen evaluaciones que no están contabilizadas: «{ $text }» (desde la línea { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] Se vio una evaluación, pero nada muestra lo que costó.
   *[other] Se vieron { $count } evaluaciones, pero nada muestra lo que costaron.
  }
audit-evaluations-none = Ninguna línea parece una evaluación.
audit-end-short = El log dice que la ejecución ha terminado, pero la última iteración leída es la { $step } de { $total }.
audit-end-unread = La línea { $line } puede significar que la ejecución ha terminado: «{ $text }».
audit-end-known = El log dice cómo terminó la ejecución, y su última iteración encaja.
audit-end-none = Ninguna línea sin leer menciona un final.
audit-step-none = Se leyeron iteraciones, pero no permiten calcular el tiempo normal de una iteración.
audit-step-plausible = { $duration } por iteración es creíble.
audit-step-odd = Iteraciones de { $duration }, o tiempos tan desiguales, son poco habituales en un entrenamiento.
audit-step-mean = Las iteraciones impresas tardan { $duration }, pero la media de todas las iteraciones según el propio log es { $mean }.
audit-step-clock = Los tiempos impresos crecen { $each } con cada iteración, partiendo de cero: puede que vengan de un reloj que nunca se pone a cero. En ese caso, una iteración tarda { $each } y no { $duration }.
audit-total-none = No hay ningún total con el que comparar.
audit-total-negative = El total de { $duration } contradice sus partes.
audit-total-explained = El { $share } del tiempo está contabilizado.
audit-total-unexplained = Nada en el log explica el { $share } del tiempo ({ $duration }).
audit-total-gap = Durante el { $share } del tiempo ({ $duration }) no se ejecutó nada, salvo que se hayan leído mal las marcas de tiempo.
audit-counter-short = Hay muy pocas iteraciones para saber si su numeración es regular.
audit-counter-regular = La numeración de las iteraciones es regular.
audit-clock-none = El log no tiene marcas de tiempo que puedan retroceder.
audit-clock-runs-on = Las marcas de tiempo nunca retroceden.
audit-clock-negative = El reloj de la barra de progreso es negativo en la línea { $line }: el reloj de la máquina se atrasó mientras se escribía el log. Las iteraciones a partir de ahí no se cuentan.
audit-clock-set = { $count ->
    [one] El reloj se atrasó una vez mientras se escribía el log (línea { $line }, { $by }); el tiempo que pasó ahí es una suposición.
   *[other] El reloj se atrasó { $count } veces mientras se escribía el log (la mayor, en la línea { $line }, { $by }); el tiempo que pasó ahí es una suposición.
}
audit-counter-again = { $count ->
    [one] La numeración vuelve a empezar desde el principio una vez: el total es el de los dos arranques, y puede que solo interese el último.
   *[other] La numeración vuelve a empezar desde el principio { $count } veces: el total es el de todos los arranques, y puede que solo interese el último.
}
audit-counter-epochs = La cuenta llega al mismo final en { $count } entrenamientos: cada uno puede ser una época de uno solo.
audit-counter-jumps = { $count ->
    [0] La numeración de las iteraciones tiene saltos.
    [one] La numeración de las iteraciones tiene saltos o empieza de nuevo (una vez).
   *[other] La numeración de las iteraciones tiene saltos o empieza de nuevo ({ $count } veces).
  }
audit-lines-none = No hay líneas que contar.
audit-lines-many = Se lee el { $share } de las líneas.
audit-lines-few = Solo se lee el { $share } de las líneas.
audit-format-known = El formato es conocido: { $format }.
audit-format-inferred = El formato es desconocido; el significado de las líneas se dedujo de su estructura ({ $confidence } de confianza).
audit-formats-none = No se probó ningún otro formato.
audit-formats-one = Ningún otro formato encaja casi tan bien como { $format }.
audit-formats-close = Dos formatos encajan casi igual de bien: { $format } explica el { $share } del log; { $other }, el { $rest }.
audit-trained-none = No se leyó ninguna iteración.
audit-trained = Las iteraciones van acompañadas de pérdidas, evaluaciones o checkpoints.
audit-trained-named = Las iteraciones muestran resultados de un entrenamiento, como «{ $text }».
audit-trained-unknown = Nada indica que esto sea un entrenamiento: ni pérdida, ni evaluación, ni checkpoint.
reason-no-steps-unread = no se leyó ninguna iteración con tiempo. Puede que esté en líneas como «{ $text }» (línea { $line }); Stepscope no las lee.
reason-no-steps-over = no se leyó ninguna iteración con tiempo, y el log muestra que la ejecución ha terminado: no habrá más.
reason-no-times-unread = se leyeron iteraciones, pero no sus tiempos. Puede que estén en líneas como «{ $text }» (línea { $line }); Stepscope no las lee.
reason-no-total-unread = no se leyó el número total de iteraciones. Puede que esté en líneas como «{ $text }» (línea { $line }); Stepscope no las lee. Indica --max-steps N, o --config con la configuración de la ejecución.
change-none-seen-unread = No hay nada que merezca la pena cambiar en lo leído: no hay ninguna evaluación contabilizada. Puede que haya alguna en líneas como «{ $text }» (línea { $line }); Stepscope no las lee.
alarm-ended-early-unread = La ejecución terminó tras la iteración { $step }; no se leyó cuántas estaban previstas. Puede que esté en líneas como «{ $text }» (línea { $line }); Stepscope no las lee.

## En qué se perdió tiempo

finding-evaluation = { $count ->
    [one] Una evaluación tardó { $seconds }, el { $share } del tiempo.
   *[other] { $count } evaluaciones tardaron { $seconds }, el { $share } del tiempo.
  }
finding-checkpoint = { $count ->
    [one] Un checkpoint tardó { $seconds }, el { $share } del tiempo.
   *[other] { $count } checkpoints tardaron { $seconds }, el { $share } del tiempo.
  }
finding-warmup = El calentamiento (compilación, primer uso de la GPU) ocupó { $seconds }, el { $share } del tiempo.
finding-data = La espera de datos ocupó { $seconds }, el { $share } del tiempo.
finding-gc = El recolector de basura ocupó { $seconds }, el { $share } del tiempo.
finding-logging = La escritura del log ocupó { $seconds }, el { $share } del tiempo.
finding-communication = La espera de otros procesos ocupó { $seconds }, el { $share } del tiempo.
finding-stall = Las pausas sin explicación ocuparon { $seconds }, el { $share } del tiempo.
finding-gap = Durante { $seconds }, el { $share } del tiempo, no se ejecutó nada: reinicios o una máquina suspendida.
finding-unlogged = El log no explica { $seconds }, el { $share } del tiempo.
finding-slower = Las iteraciones { $first } a { $last } tardaron { $level } en vez de { $normal }: eso costó { $seconds }, el { $share } del tiempo.
finding-repeated = { $count ->
    [one] Se repitió una iteración tras un reinicio: { $seconds } de entrenamiento, el { $share } del tiempo.
   *[other] Se repitieron { $count } iteraciones tras reinicios: { $seconds } de entrenamiento, el { $share } del tiempo.
  }
finding-after-best = La pérdida de validación fue mínima en la iteración { $step } ({ $loss }). Lo que siguió, { $seconds } o el { $share } del tiempo, empeoró el modelo.

## La respuesta en tres líneas

summary-running = En marcha: { $where }
summary-finished = Completada: { $where }
summary-stopped = Detenida sin ningún mensaje: { $where }
summary-unknown = Quizá siga en marcha: { $where }
summary-crashed = Falló tras { $wall }: { $where }
summary-crashed-early = Falló antes de la primera iteración
summary-crashed-unread = Falló; no se reconoció ninguna iteración
summary-crashed-untimed = Falló: { $where }
summary-out_of_memory = Sin memoria tras { $wall }: { $where }
summary-out_of_memory-early = Sin memoria antes de la primera iteración
summary-out_of_memory-unread = Sin memoria; no se reconoció ninguna iteración
summary-out_of_memory-untimed = Sin memoria: { $where }
summary-interrupted = Interrumpida tras { $wall }: { $where }
summary-interrupted-early = Interrumpida antes de la primera iteración
summary-interrupted-unread = Interrumpida; no se reconoció ninguna iteración
summary-interrupted-untimed = Interrumpida: { $where }
summary-killed = Proceso matado tras { $wall }: { $where }
summary-killed-early = Proceso matado antes de la primera iteración
summary-killed-unread = Proceso matado; no se reconoció ninguna iteración
summary-killed-untimed = Proceso matado: { $where }
summary-cause = Línea { $line }: { $text }
summary-memory = Pidió { $asked }; quedaban libres { $free } de { $total } (línea { $line })
summary-smaller = Reduce el batch a la mitad y duplica la acumulación: mismo entrenamiento
summary-smaller-batch = Prueba con batch { $batch_size } × acumulación { $accumulation }: los mismos tokens por iteración
summary-lost = { $count ->
    [0] No se ha perdido nada: el último checkpoint es de la última iteración ({ $step })
    [one] Se ha perdido una iteración ({ $seconds }) desde el último checkpoint (iteración { $step })
   *[other] Se han perdido { $count } iteraciones ({ $seconds }) desde el último checkpoint (iteración { $step })
  }
summary-lost-all = El log no muestra ningún checkpoint: si no lo hay, se ha perdido todo ({ $wall })
summary-for-times = Para tener tiempos, lánzalo así: stepscope run -- python train.py
summary-for-trace = Para medir las iteraciones desde dentro, lánzalo así: stepscope run --trace -- python train.py
summary-teach = Para saber qué significan estas líneas: stepscope formats try LOG --suggest
summary-nothing-lost = No se ha perdido tiempo de entrenamiento: no se hizo ninguna iteración
summary-left = Tiempo restante: { $left }{ $range }
summary-left-done = Tiempo restante: { $left }{ $range } · fin: { $time }
summary-left-if = Tiempo restante, si sigue en marcha: { $left }{ $range }
summary-left-default = Tiempo restante: { $left }{ $range }, si son las { $count } iteraciones por defecto
summary-left-done-default = Tiempo restante: { $left }{ $range } · fin: { $time }, si son las { $count } iteraciones por defecto
summary-resumed = Duración: { $wall }; si se reanuda, tiempo restante: { $left }{ $range }
summary-took = Duración: { $wall }
summary-took-each = Duración: { $wall }, { $level } por iteración
summary-ran = Duración: { $wall }
summary-ran-each = Duración: { $wall }, { $level } por iteración
summary-doubt = { $each } o { $one } por iteración: «{ $text }» puede abarcar { $count } o una sola
summary-doubt-unit = «{ $text }» no lleva unidad y puede abarcar { $count } iteraciones o una sola
summary-no-times = El log no imprime tiempos: no hay ni duración ni hora de fin
summary-no-steps = Aún no hay ninguna iteración con tiempo: no hay ni duración ni hora de fin
summary-only-evaluations = { $count ->
    [one] Una evaluación tardó { $seconds }; no hay tiempos de las iteraciones
   *[other] { $count } evaluaciones tardaron entre { $low } y { $high } cada una, { $seconds } en total; no hay tiempos de las iteraciones
}
summary-so-far-no-total = { $wall } hasta ahora; para saber la hora de fin, indica --max-steps N
summary-so-far-no-end = { $wall } hasta ahora; aún sin hora de fin
summary-each-no-total = { $wall } hasta ahora, { $level } por iteración; hora de fin con --max-steps N
summary-each-no-end = { $wall } hasta ahora, { $level } por iteración; aún sin hora de fin
summary-unlogged = Mayor coste: { $seconds } ({ $share }) que el log no explica
summary-healthy = Nada que corregir: el { $share } del tiempo es entrenamiento
summary-healthy-part = Nada que corregir en lo que el log cronometra; sin tiempos: { $stops }
summary-healthy-inside = Nada que corregir en lo que el log cronometra; dentro del entrenamiento: { $stops }
summary-few = Hay muy pocas líneas para saber en qué se va el tiempo
summary-no-cost = No hay ningún coste evitable del 1 % o más
size-mib = { $size } MiB
size-gib = { $size } GiB
cost-evaluation = { $count ->
    [one] Mayor coste: una evaluación, { $seconds } ({ $share } del tiempo)
   *[other] Mayor coste: { $count } evaluaciones, { $seconds } ({ $share } del tiempo)
  }
cost-checkpoint = { $count ->
    [one] Mayor coste: un checkpoint, { $seconds } ({ $share } del tiempo)
   *[other] Mayor coste: { $count } checkpoints, { $seconds } ({ $share } del tiempo)
  }
cost-warmup = Mayor coste: el calentamiento (compilación, primer uso de la GPU), { $seconds } ({ $share })
cost-data = Mayor coste: la espera de datos, { $seconds } ({ $share } del tiempo)
cost-gc = Mayor coste: el recolector de basura, { $seconds } ({ $share } del tiempo)
cost-logging = Mayor coste: la escritura del log, { $seconds } ({ $share } del tiempo)
cost-communication = Mayor coste: la espera de otros procesos, { $seconds } ({ $share } del tiempo)
cost-stall = Mayor coste: pausas sin explicación, { $seconds } ({ $share } del tiempo)
cost-gap = Mayor coste: { $seconds } ({ $share }) sin actividad (reinicios, máquina suspendida)
cost-slower = Mayor coste: iteraciones lentas { $first }–{ $last }, { $seconds } ({ $share } del tiempo)
cost-repeated = { $count ->
    [one] Mayor coste: una iteración repetida tras un reinicio, { $seconds } ({ $share })
   *[other] Mayor coste: { $count } iteraciones repetidas tras reinicios, { $seconds } ({ $share })
  }
cost-after-best = Mayor coste: { $seconds } ({ $share }) tras la mejor pérdida (iteración { $step })

## Una pantalla

slow-group-times = { $where } ({ $count }×)
slow-group-some = { $count } iteraciones
section-slow-lines = Líneas lentas ({ $count } iteraciones cada una)
section-change-next = Qué cambiar la próxima vez
change-savings-rest = ahorro en lo que queda de esta ejecución
change-savings-run = ahorro en una ejecución como esta
finish-would = habría terminado: { $time } ({ $low } – { $high })
slow-group-every = cada { $every }
slow-group-window = { $first }–{ $last }
change-short = { $change }: ahorra { $duration }
part-about = { $phase } ≈{ $duration }
screen-more = Más: --full
screen-more-about = Más: --full. ≈: este log no da una cifra exacta.
screen-more-lines = { $count ->
    [one] … y una más
   *[other] … y { $count } más
  }
screen-inferred = Formato desconocido, leído por su estructura ({ $confidence } de confianza): stepscope formats try { $path } --suggest
## Flotas

fleet-listing = logs encontrados hasta ahora: { $found }
fleet-progress = { $done } de { $total } · { $rate } por segundo · tiempo restante: { $left }
fleet-scanned = { $runs ->
    [one] Una ejecución leída, { $failed } sin entender; carpetas y logs sin cambios: { $known } de { $found }.
   *[other] { $runs } ejecuciones leídas, { $failed } sin entender; carpetas y logs sin cambios: { $known } de { $found }.
  }
fleet-unreadable-folder = aviso: no se puede listar la carpeta { $path }
error-bad-workers = --workers espera un número entero de 1 a 4095
    .hint = por ejemplo: --workers 8
error-fleet-needs-place = no hay nada que leer
    .hint = indica carpetas, logs o buckets: stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = otro proceso está escribiendo en este almacén
    .hint = espera a que termine o usa otro --store
error-fleet-too-slow = la lectura tardó más de { $minutes } minutos
    .hint = pruébalo por separado: stepscope { $place }
error-bucket-without-name = no se indica ningún bucket
    .hint = por ejemplo: s3://logs/runs
error-no-bucket = ese bucket no existe
    .hint = comprueba el nombre y, si no es el servicio del propio proveedor, AWS_ENDPOINT_URL
error-no-such-object = ahí no hay nada
    .hint = comprueba la clave: un prefijo termina donde terminaría el nombre de una carpeta
error-bucket-no-credentials = no hay credenciales para este bucket
    .hint = configúralas como para las herramientas del proveedor, o AWS_SKIP_SIGNATURE=true si el bucket es público
error-bucket-refused = estas credenciales no dan permiso de lectura
    .hint = hace falta permiso para listar y para leer
error-bucket-unreachable = no se puede leer el bucket: { $reason }
    .hint = comprueba el endpoint, la región y la red
error-bucket-unsorted = este bucket lista sus claves sin orden
    .hint = ocurre con los buckets de directorio de S3: copia los logs a uno de uso general o léelos desde un disco
error-bad-engine = motor desconocido
    .hint = por ejemplo: --engine pool, --engine ray://head:10001, --engine dask://scheduler:8786
error-engine-unreachable = no hay conexión con el clúster: { $reason }
    .hint = comprueba la dirección y que esté en marcha
error-worker-without-us = un worker no puede importar Stepscope: { $reason }
    .hint = instala la misma versión en los workers, con el extra fleet
fleet-watching = En seguimiento: { $count } · bloqueados: { $stalled } · terminados: { $ended } · alarmas: { $alarms }
fleet-not-followed = aviso: no se puede seguir { $path }: { $reason }
error-fleet-without-sources = este almacén no sabe dónde están sus logs
    .hint = léelos primero: stepscope fleet scan /logs/slurm --store { $place }

## La página de un entrenamiento

state-name-running = En marcha
state-name-finished = Completada
state-name-crashed = Fallida
state-name-out_of_memory = Sin memoria
state-name-interrupted = Interrumpida
state-name-killed = Proceso matado
state-name-stopped = Detenida
state-name-unknown = Estado desconocido
page-last-line = última línea
page-export = Exportar
page-export-summary = Copiar el resumen
page-export-json = Guardar los datos (JSON)
page-export-link = Copiar un enlace a esta vista
page-export-print = Imprimir
page-export-more = Más formatos, desde una terminal:
page-copy = Copiar
page-copied = Copiado
page-card-do = Qué conviene hacer
page-card-done = Fin previsto
page-card-left = Tiempo restante
page-card-left-if = Tiempo restante, si continúa
page-card-took = Duración
page-card-progress = Progreso
page-card-speed = Velocidad
page-card-overhead = Sobrecarga
page-ended-at = fin: { $time }
page-elapsed = { $duration } hasta ahora
page-no-total = total desconocido
page-iterations = { $count ->
    [one] iteración
   *[other] iteraciones
}
page-per-iteration = por iteración
page-speed-range = el { $share } tarda { $span }
page-speed-tokens = { $tokens } tokens/s
page-overhead-none = todo es entrenamiento
section-findings = En qué se perdió tiempo
page-why = Por qué y a qué coste
page-more-advice = También conviene cambiar
page-more-changes = { $count ->
    [one] Otra opción más
   *[other] { $count } opciones más
}
page-timeline = Cronología
page-lane-level = tiempo por iteración
page-lane-stops = iteraciones lentas y paradas, por partes
page-unprinted = sin imprimir (se imprime 1 de cada { $count })
page-training-loss = pérdida de entrenamiento
page-best = mejor: { $loss } (iteración { $step })
page-tip-window = Iteraciones { $first }–{ $last } ({ $count }): { $took } cada una
page-strip-hint-touch = Toca para ver los valores; los botones de arriba amplían y desplazan.
page-tabs = Detalles
page-tab-forecast = Pronóstico
page-tab-ranks = Ranks
page-tab-log = Log
page-column-count = veces
page-column-each = cada una
page-column-extra = de más
page-column-cause = causa
page-column-rank = rank
page-column-host = host
page-column-format = formato
page-slow-groups = Por tipos
page-slow-each = Una por una
page-window = { $first }–{ $last } ({ $count } iteraciones)
page-fan-changed = con el cambio
page-reset = Restablecer
page-copy-flags = Copiar como opciones
page-ranks-hint = Cada fila es un rank, cada columna un tramo. El color es su tiempo por iteración frente a la mediana de todos los ranks en ese tramo.
page-log-hint = Líneas de las que salen las cifras, en la medida en que se pueden citar: iteraciones lentas, evaluaciones, checkpoints, avisos, el final, líneas que no se entendieron e iteraciones intermedias. El número de la derecha lleva a la cronología.
page-log-whole = Las { $count } líneas del log; el número de la derecha lleva a la iteración en la cronología.
page-log-find = Buscar
page-sure = Confianza en esta lectura
page-candidates = Formatos que se probaron
page-verdict-agrees = coincide
page-verdict-disagrees = no coincide
page-verdict-cannot-tell = no se sabe
page-card-lost = Qué se pierde
page-card-so-far = Hasta ahora
page-more-alarms = { $count } más
page-show = Ver en la cronología
page-best-loss = mejor pérdida de validación: { $loss } (iteración { $step })
page-window-mark = media de las iteraciones que cubre una línea
page-tokens-per-s = tokens/s
page-steps-per-s = iteraciones/s
error-theme-without-picture = --theme es para imágenes
    .hint = añade --format png o --format svg
## Las ejecuciones de una carpeta
runs-title = { $count } ejecuciones en { $path }, las más recientes primero
runs-column-run = ejecución
runs-column-state = estado
runs-column-done = hecho
runs-column-time = tiempo
runs-column-lost = perdido
runs-column-cost = sobre todo en
runs-state-running = en marcha
runs-state-finished = completada
runs-state-stopped = detenida
runs-state-unknown = ¿en marcha?
runs-state-crashed = fallida
runs-state-out_of_memory = sin memoria
runs-state-interrupted = interrumpida
runs-state-killed = proceso matado
runs-left = restante: { $left }
runs-cost-after-best = tras el óptimo
runs-cost-slower = tramo lento
runs-cost-repeated = trabajo repetido
runs-too-large = demasiado grande para esta lista
runs-open = Para abrir una: { $command }
runs-one-of = { $folder } contiene { $count } ejecuciones; esta es { $path }. Para verlas todas: stepscope { $folder }
runs-more = { $count ->
    [one] No se ha mirado un archivo más antiguo. Para verlas todas: stepscope serve { $path }
   *[other] No se han mirado { $count } archivos más antiguos. Para verlas todas: stepscope serve { $path }
}
error-several-runs = este formato es para una sola ejecución, y la carpeta contiene { $count } o más
    .hint = indica una de ellas: stepscope { $path }

# compare --fail-on
gate-passed-same = Comprobación superada: la ejecución no es más lenta.
gate-passed-slower = Comprobación superada: la ejecución es un { $change } más lenta, dentro del límite del { $limit }.
gate-passed-faster = Comprobación superada: la ejecución es un { $change } más rápida.
gate-slower = La ejecución es un { $change } más lenta{ $span }: supera el límite del { $limit } y es más que ruido.
gate-cannot-judge = No se puede decidir: { $reason }.
gate-noise = la ejecución es un { $change } más lenta, pero puede ser ruido
gate-unsure = puede que { $path } no se haya leído bien
gate-too-few = { $path } tiene { $count } iteraciones normales con tiempo, y hacen falta { $least }
gate-no-time = los tiempos de { $path } son demasiado poco precisos para comparar
error-bad-fail-on = --fail-on espera un porcentaje
    .hint = por ejemplo: --fail-on 5%
error-bad-baseline = esta referencia guardada está dañada ({ $reason })
    .hint = guárdala otra vez: stepscope compare LOG --save-baseline ARCHIVO

# --price
with-amount = { $text } · { $money }
with-money = { $text } · { $money } a { $rate }
with-money-of = { $text } · { $money } a { $rate } × { $count } GPU
eta-line-left = { $left }
error-price-needs-power = para un precio por kilovatio-hora hace falta saber la potencia que consume la GPU
    .hint = indica --nvidia-smi ARCHIVO, o un precio por hora como --price 2.10/h

# En directo: el mejor modelo quedó atrás hace tiempo
alarm-past-best = La pérdida de validación fue mínima en la iteración { $step } ({ $loss }), y las { $count } evaluaciones posteriores son peores; el { $share } del tiempo se gastó después. Parar ahora no cuesta nada: el checkpoint de esa iteración está guardado.
alarm-past-best-left = La pérdida de validación fue mínima en la iteración { $step } ({ $loss }), y las { $count } evaluaciones posteriores son peores; el { $share } del tiempo se gastó después. Parar ahora no cuesta nada y ahorra { $left }: el checkpoint de esa iteración está guardado.
alarm-past-best-unsaved = La pérdida de validación fue mínima en la iteración { $step } ({ $loss }), y las { $count } evaluaciones posteriores son peores; el { $share } del tiempo se gastó después. Seguir igual no ayudará; el log no muestra ningún checkpoint de esa iteración.
alarm-past-best-unsaved-left = La pérdida de validación fue mínima en la iteración { $step } ({ $loss }), y las { $count } evaluaciones posteriores son peores; el { $share } del tiempo se gastó después. Seguir { $left } más apenas ayudará; el log no muestra ningún checkpoint de esa iteración.

# La respuesta en tres líneas, cuando una media no es una iteración normal
summary-each-no-total-mean = { $wall } hasta ahora, { $level } por iteración de media; hora de fin con --max-steps N
summary-each-no-end-mean = { $wall } hasta ahora, { $level } por iteración de media; aún sin hora de fin
state-last-written-only = última línea: { $at }
error-fleet-bad-pattern = un patrón de ruta contiene entre llaves los nombres user, project, commit, gpu, hosts, devices, job_id o price, cada uno como mucho una vez
    .hint = mira docs/fleet.md, "Facts that logs rarely hold"
error-fleet-bad-facts = esto no es una tabla de datos
    .hint = un archivo CSV cuya primera línea nombra sus columnas: { $columns }
error-fleet-bad-sacct = esto no es la salida de sacct --parsable2
    .hint = por ejemplo: sacct --parsable2 --format JobID,User,Account,AllocTRES,NodeList,Start,Timelimit > jobs.txt
fleet-gpu-hours = { $hours } horas de GPU
fleet-run-hours = { $hours } horas
fleet-with-cost = { $hours } (coste { $cost })
fleet-with-money = { $hours } ({ $cost })
fleet-unit-gpu = horas de GPU
fleet-unit-run = horas
fleet-head = { $runs ->
    [one] Goodput: { $share }{ $range } de { $amount } en una ejecución.
   *[other] Goodput: { $share }{ $range } de { $amount } en { $runs } ejecuciones.
  }
fleet-nothing-timed = { $count ->
    [one] Una ejecución, y su log no contiene tiempos.
   *[other] { $count } ejecuciones, y ningún log contiene tiempos.
  }
fleet-rests-on = El { $unexplained } del tiempo no aparece en ninguna línea de los logs. Si cada ejecución cuenta una vez, el goodput es del { $runs }.
fleet-each-once = Si cada ejecución cuenta una vez, el goodput es del { $runs }.
fleet-lost = Perdido: { $amount }. Causa principal: { $cause }, { $most }.
fleet-first = Lo primero que conviene hacer: { $what }. Eso habría ahorrado { $amount }.
fleet-then = Después: { $what }.
fleet-counted = { $count ->
    [one] De { $of } ejecuciones se cuenta la única cuyo número de GPU se conoce.
   *[other] De { $of } ejecuciones se cuentan las { $count } cuyo número de GPU se conoce.
  }
fleet-fix-regression = revisa qué cambió con { $name }: desde entonces cada iteración tarda más
fleet-fix-host = retira el host { $name } hasta que se repare
fleet-copies = { $count ->
    [one] Un log es copia de otro: su ejecución cuenta una vez.
   *[other] { $count } logs son copias de otros: cada ejecución cuenta una vez.
  }
fleet-paused = { $count ->
    [one] Una ejecución estuvo en pausa más de una hora entre dos arranques, { $amount } en total: no se cuenta, porque sus GPU pudieron servir a otros trabajos.
   *[other] { $count } ejecuciones estuvieron en pausa más de una hora entre dos arranques, { $amount } en total: no se cuenta, porque sus GPU pudieron servir a otros trabajos.
  }
fleet-training = { $count ->
    [one] Una ejecución falló o se reinició: descontado lo que eso costó, le quedó el { $share } de su tiempo.
   *[other] { $count } ejecuciones fallaron o se reiniciaron: descontado lo que eso costó, les quedó el { $share } de su tiempo.
  }
fleet-column-cause = causa
fleet-column-cost = coste
fleet-column-share = parte
fleet-column-runs = ejec.
fleet-column-each = media por ejec.
fleet-column-host = host
fleet-column-ratio = iteración
fleet-column-slow = lentas
fleet-column-crashed = fallos
fleet-column-verdict = veredicto
fleet-column-run = ejecución
fleet-column-left = tiempo restante
fleet-column-chance = acaba a tiempo
fleet-column-alarms = alarmas
fleet-column-goodput = goodput
fleet-column-lost = perdido
fleet-column-worst = sobre todo en
fleet-cause-after_best = tras la mejor pérdida de validación
fleet-cause-slower = tramos más lentos
fleet-cause-lost_work = trabajo repetido tras reinicios
fleet-cause-died_after_checkpoint = fallo tras un checkpoint
fleet-cause-died_before_checkpoint = fallo antes del primer checkpoint
fleet-cause-straggler = espera a un rank lento
fleet-cause-stall = paradas sin explicar
fleet-remedy-evaluation = evalúa menos a menudo, o con menos batches
fleet-remedy-checkpoint = guarda checkpoints menos a menudo, o en segundo plano
fleet-remedy-warmup = conserva la caché de compilación entre ejecuciones
fleet-remedy-data = carga los batches con más procesos
fleet-remedy-gc = ejecuta el recolector de basura solo en iteraciones fijas
fleet-remedy-logging = escribe menos a menudo en el log
fleet-remedy-communication = revisa la red y la ubicación de los ranks
fleet-remedy-stall = graba un trabajo así con stepscope run --trace para ver a qué espera
fleet-remedy-gap = reinicia los trabajos de inmediato y de forma automática
fleet-remedy-after_best = para en cuanto suba la pérdida de validación
fleet-remedy-slower = revisa el calor, las frecuencias y los demás trabajos de estos hosts
fleet-remedy-lost_work = guarda checkpoints más a menudo
fleet-remedy-died_after_checkpoint = guarda checkpoints más a menudo y reinicia los trabajos que fallan
fleet-remedy-died_before_checkpoint = prueba antes cada trabajo unas iteraciones y guarda pronto un checkpoint
fleet-remedy-straggler = retira el host lento
fleet-back = Volver a la flota
fleet-cause-spread = { $count ->
    [one] en una ejecución; si cada ejecución cuenta una vez, { $share } del tiempo
   *[other] en { $count } ejecuciones; si cada ejecución cuenta una vez, { $share } del tiempo
}
fleet-would-save = { $what }; habría ahorrado { $amount }
fleet-beyond = Parte que no aportó ninguna precisión útil: { $amount }.
fleet-tradeoff = Con menos checkpoints se pierde más cuando una ejecución falla; hasta ahora eso costó { $amount }.
fleet-most-in = lo que más, en { $run }: { $amount }
fleet-regression-commit = { $config }: desde el commit { $since } una iteración tarda un { $share } más{ $range }: { $before } → { $after }, sobre todo en { $phase }. { $count ->
    [one] Una ejecución desde entonces,
   *[other] { $count } ejecuciones desde entonces,
  } { $amount } más que antes.
fleet-regression-day = { $config }: desde el { $since } una iteración tarda un { $share } más{ $range }: { $before } → { $after }, sobre todo en { $phase }. { $count ->
    [one] Una ejecución desde entonces,
   *[other] { $count } ejecuciones desde entonces,
  } { $amount } más que antes.
fleet-since-range = { $since } (entre { $low } y { $high })
fleet-lemon-slow = defectuoso: lento
fleet-lemon-crashing = defectuoso: falla
fleet-no-lemon = { $count ->
    [one] Un host, ni más lento ni con más fallos de lo que explica el azar.
   *[other] { $count } hosts, ninguno más lento ni con más fallos de lo que explica el azar.
  }
fleet-unknown = desconocido
fleet-by-host = host
fleet-by-user = usuario
fleet-by-project = proyecto
fleet-by-trainer = programa
fleet-by-gpu = GPU
fleet-by-commit = commit
fleet-section-causes = En qué se fue el tiempo, de más a menos caro
fleet-section-advice = Qué hacer al respecto
fleet-section-regressions = Qué se ha ralentizado
fleet-section-hosts = Hosts
fleet-section-running = En marcha en la última lectura ({ $count })
fleet-section-by = Desglose
fleet-section-missing = Lo que no se sabe
fleet-unread = { $count ->
    [one] No se leyó un archivo: { $reason }
   *[other] No se leyeron { $count } archivos: { $reason }
  }
fleet-untimed = { $count ->
    [one] Una ejecución no tiene tiempos en su log y queda fuera.
   *[other] { $count } ejecuciones no tienen tiempos en sus logs y quedan fuera.
  }
fleet-without-devices = { $count ->
    [one] Una ejecución no dice en cuántas GPU corrió: no cuenta en las horas de GPU.
   *[other] { $count } ejecuciones no dicen en cuántas GPU corrieron: no cuentan en las horas de GPU.
  }
fleet-without-price = { $count ->
    [one] Una ejecución no tiene precio: no está en los costes.
   *[other] { $count } ejecuciones no tienen precio: no están en los costes.
  }
fleet-without-hosts = { $count ->
    [one] Una ejecución no dice en qué hosts corrió: no se atribuye a ningún host.
   *[other] { $count } ejecuciones no dicen en qué hosts corrieron: no se atribuyen a ningún host.
  }
fleet-without-commit = { $count ->
    [one] Una ejecución no dice su commit: los cambios de su configuración se fechan por día.
   *[other] { $count } ejecuciones no dicen su commit: los cambios de sus configuraciones se fechan por día.
  }
fleet-without-user = { $count ->
    [one] Una ejecución sin usuario.
   *[other] { $count } ejecuciones sin usuario.
  }
fleet-without-project = { $count ->
    [one] Una ejecución sin proyecto.
   *[other] { $count } ejecuciones sin proyecto.
  }
fleet-without-gpu = { $count ->
    [one] Una ejecución sin modelo de GPU.
   *[other] { $count } ejecuciones sin modelo de GPU.
  }
fleet-without-config_hash = { $count ->
    [one] Una ejecución no indica ajustes: no se compara con ninguna otra.
   *[other] { $count } ejecuciones no indican ajustes: no se comparan con ninguna otra.
  }
error-fleet-no-store = no hay ejecuciones en este almacén
    .hint = lee algunas primero: stepscope fleet scan /logs/slurm --store { $place }
error-fleet-bad-price = el precio de una flota es por hora de una GPU
    .hint = por ejemplo: --price 2.10/h
fleet-filter = Mostrar filas con
fleet-other-causes = otras causas
fleet-section-runs = Ejecuciones que más perdieron
fleet-column-state = estado
fleet-column-whose = usuario / proyecto
fleet-state-running = en marcha
fleet-state-finished = completada
fleet-state-crashed = fallida
fleet-state-out_of_memory = sin memoria
fleet-state-interrupted = interrumpida
fleet-state-killed = proceso matado
fleet-state-stopped = detenida
fleet-state-unknown = desconocida
## Qué significa el tiempo impreso

clock-step = El tiempo impreso es el de una iteración.
clock-window = El tiempo impreso es la media de las iteraciones desde la línea anterior.
clock-window-sum = El tiempo impreso es el de todas las iteraciones desde la línea anterior.
clock-cumulative = El log imprime un reloj que avanza de línea en línea.
clock-cumulative-mean = El tiempo impreso es la media de todas las iteraciones desde la primera.
clock-stamp = El log no imprime el tiempo por iteración; los tiempos son las diferencias entre las marcas de tiempo de sus líneas.
clock-arrival = Los tiempos son la hora de llegada registrada de cada línea; el reloj que imprimen las líneas es menos preciso.
clock-includes = Incluye: { $phases }.
clock-more = Más sobre este formato: { $command }

## La nota como artículo

note-calm = { $count ->
    [one] Ese salto es normal.
   *[other] Esos saltos son normales.
}
note-costly = Las iteraciones lentas son paradas previstas, pero ocupan el { $share } del tiempo.
note-unexplained = { $count ->
    [one] Una de { $total } iteraciones lentas queda sin explicar.
   *[other] { $count } de { $total } iteraciones lentas quedan sin explicar.
}
note-which = { $count ->
    [one] En la iteración { $steps } el entrenamiento no va más lento
   *[other] En las iteraciones { $steps } el entrenamiento no va más lento
}: { $trainer } se detiene ahí para { $stops ->
    [both] medir la pérdida y guardar un checkpoint
    [evaluation] medir la pérdida
   *[save] guardar un checkpoint
}, y su cronómetro sigue en marcha.
note-which-many = En { $count } de ellas el entrenamiento no va más lento: { $trainer } se detiene ahí para { $stops ->
    [both] medir la pérdida y guardar un checkpoint
    [evaluation] medir la pérdida
   *[save] guardar un checkpoint
}, y su cronómetro sigue en marcha.
note-which-all = En ninguna de ellas el entrenamiento va más lento: { $trainer } se detiene ahí para { $stops ->
    [both] medir la pérdida y guardar un checkpoint
    [evaluation] medir la pérdida
   *[save] guardar un checkpoint
}, y su cronómetro sigue en marcha.
note-micro = Cada iteración consta de { $accumulation } micro-batches de { $batch } secuencias, forward y backward.
note-took = La iteración { $step } tardó { $duration }: { $parts }.
note-alike = { $count ->
    [one] Otra como ellas tardó { $span }.
   *[other] Otras { $count } como ellas tardaron { $span }.
}
note-every = Se repiten cada { $every } iteraciones.
note-batches = Una evaluación recorre { $count } batches { $splits ->
    [one] sin entrenar con ellos.
   *[other] de cada una de las { $splits } particiones, sin entrenar con ellos.
}
note-section-first = Por qué la iteración { $step } tarda { $duration }
note-first = El calentamiento se paga una vez en cada arranque: compilación y primer uso de la GPU.
note-section-summary = Resumen
note-sum-planned = Las iteraciones lentas son paradas previstas, no un entrenamiento lento: las evaluaciones y los checkpoints ocupan el { $share } del tiempo.
note-sum-normal = Una iteración normal tarda { $duration }.
note-at-most = { $phase } { $duration } como mucho
note-closing = Fin previsto del entrenamiento, aproximadamente: { $time } ({ $low } – { $high }).

# Teclas de la vista en directo
live-keys = q salir · ? ayuda · p pausa · + − tramo · c gráficos · a consejo · l log
live-key-span = + − mostrar más o menos iteraciones
live-key-charts = c   mostrar u ocultar los gráficos
live-key-advice = a   mostrar u ocultar los consejos
live-held = En pausa: la ejecución sigue y las alarmas se envían igualmente. p para continuar.
live-key-quit = q   salir; la ejecución sigue
live-key-pause = p   congelar la imagen o seguir (también con espacio)
live-key-log = l   mostrar u ocultar las últimas líneas del log
live-key-help = ?   cerrar esta ayuda

# Los dos extremos del intervalo en el mismo minuto
finish-at-one = fin previsto: { $time }
## La lista de ejecuciones y lo que la acompaña
app-new = Nuevo
app-close = Cerrar
app-copy = Copiar
app-copied = Copiado
app-clear = Borrar
app-apply = Aplicar
app-dismiss = Descartar
app-all = Todas
app-filter = Buscar y filtrar
app-filter-state = Estado
app-search = Buscar ejecuciones
app-any-trainer = Todos los programas
app-any-folder = Todas las carpetas
app-folder = Carpeta
app-no-folder = (esta carpeta)
app-group = Agrupar por carpeta
app-sort = Orden
app-column-state = Estado
app-column-run = Ejecución
app-column-trainer = Programa
app-column-progress = Progreso
app-column-step = Por iteración
app-column-left = Restante o fin
app-column-overhead = Sobrecarga
app-column-loss = Mejor pérdida val.
app-column-time = Velocidad y paradas
app-column-updated = Actualizado
app-state-running = En marcha
app-state-stalled = ¿Bloqueada?
app-state-finished = Completada
app-state-crashed = Fallida
app-state-out-of-memory = Sin memoria
app-state-interrupted = Interrumpida
app-state-killed = Proceso matado
app-state-stopped = Detenida
app-state-unknown = Sin actividad
app-state-unread = Sin leer
app-looking = Buscando ejecuciones…
app-reading = Leyendo: { $read } de { $found } archivos
app-count = { $shown } de { $total } ejecuciones
app-others = Archivos sin log de entrenamiento: { $count }
app-unreadable = Carpetas que no se pueden leer: { $count }
app-no-match = Ninguna ejecución coincide. Borra la búsqueda o elige otro estado.
app-empty-start = Lanza un entrenamiento que registre sus tiempos y aparecerá aquí en unos segundos:
app-empty-paste = O abre un log que está en otro sitio: suéltalo en esta página o pega sus líneas con «Nuevo».
app-choose-file = O elige un archivo:
app-facts = Lo que el log no dice
app-facts-ask = ¿Cuántas iteraciones tendrá esta ejecución? El log no lo indica
app-fact-total = Iteraciones en total
app-fact-parameters = Parámetros
app-fact-gpu = GPU
app-chosen = { $count } elegidas
app-choose-more = Elige una más para comparar.
app-most = Se pueden comparar hasta ocho ejecuciones.
app-files = { $count } archivos
app-ran = duró { $duration }
app-left-at = fin: { $time }
app-overdue = con retraso
app-no-total = total desconocido
app-progress = { $step } de { $total }
app-best-at = en { $step }
app-now-live = En directo
app-now-off = Sin respuesta
app-offline = El servidor no responde: ¿sigue en marcha stepscope serve? Esta página muestra los últimos datos recibidos y vuelve a intentarlo.
app-alarms = Alarmas
app-notify-on = Avisarme
app-notify-off = Avisos activados
app-notify-denied = El navegador bloquea los avisos de esta página; permítelos en los ajustes del sitio.
app-notice-state = { $name }: { $state }
app-title-running = ({ $count }) Stepscope
app-overlay = Las curvas en una imagen
app-overlay-by = Eje horizontal
app-overlay-step = por iteración
app-overlay-tokens = por tokens
app-overlay-time = por tiempo
app-overlay-loss = Pérdida de entrenamiento
app-overlay-validation = Pérdida de validación
app-overlay-took = Tiempo de una iteración normal
app-unread = no se pudo leer ({ $problem }); ábrela para ver la causa
app-unread-large = demasiado grande o lenta de leer para la lista; ábrela para leerla
app-instead-reason-no-total = el log no indica el número total de iteraciones. Rellena «Iteraciones en total» arriba.
app-instead-reason-implausible-total = el total indicado de { $total } iteraciones no es creíble: a la velocidad actual el resto tardaría { $left }. Corrige «Iteraciones en total» arriba.
app-instead-reason-no-total-unread = no se leyó el número total de iteraciones. Puede que esté en líneas como «{ $text }» (línea { $line }); Stepscope no las lee. Rellena «Iteraciones en total» arriba.
app-instead-summary-so-far-no-total = { $wall } hasta ahora; para la hora de fin, rellena «Iteraciones en total»
app-instead-summary-each-no-total = { $wall } hasta ahora, { $level } por iteración; para la hora de fin, rellena «Iteraciones en total»
app-instead-error-no-such-file = esta ejecución no está (o ya no está) en la carpeta
    .hint = vuelve a la lista: muestra lo que hay ahora
app-instead-error-compare-needs-two = una comparación necesita al menos dos ejecuciones con tiempos
    .hint = vuelve y marca dos filas o más de la lista
app-left-out = Se omiten porque sus logs no tienen tiempos: { $names }
error-compare-most = se pueden comparar hasta ocho ejecuciones a la vez
    .hint = vuelve y marca menos
app-instead-page-no-total = total desconocido: indícalo arriba
app-instead-summary-each-no-total-mean = { $wall } hasta ahora, { $level } por iteración de media; para la hora de fin, rellena «Iteraciones en total»
error-bad-fact = «{ $text }» no es un número entero mayor o igual que 1
    .hint = vuelve atrás y escríbelo como 20000 o 124M
