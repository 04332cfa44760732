### Español. Los términos que se dicen en inglés (checkpoint, batch, loss, log) se quedan así.

## Números

number-least-grouped = 10000
clock-with-date = { $date }, { $time }

## Fases, evidencia, orígenes

phase-step = entrenamiento
phase-evaluation = evaluación
phase-checkpoint = checkpoint
phase-warmup = arranque
phase-data = datos
phase-gc = recolección de basura
phase-logging = registro
phase-communication = comunicación
phase-stall = sin explicar
phase-gap = pausa
phase-unlogged = fuera del log
basis-measured = medido
basis-inferred = inferido
basis-assumed = supuesto
basis-unpriced = { $count }×, sin tiempos
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
run-normal = Una iteración normal tarda { $duration }; nueve de cada diez, { $span }.
run-present = Ahora mismo una iteración tarda { $duration }.
run-normal-one = Una iteración normal tarda { $duration }.
run-tokens = { $tokens } tokens por segundo.
run-regimes = Su nivel cambió: { $levels }.
run-level = { $duration } desde la iteración { $step }
run-sampled = Solo se imprime una iteración de cada { $count }; los segundos de las demás se infieren de sus vecinas.
run-settings = Configuración: { $settings }.
setting-from = { $settings } ({ $origin })
run-gpu = { $gpu }: { $details }.
gpu-load = ocupada al { $share }
gpu-memory = { $used } de { $total } GiB
gpu-power = { $power } W
gpu-temperature = { $degrees } °C
## Cómo cambia la velocidad

trend-one = Una sola línea: no muestra ninguna tendencia.
trend-one-time = Solo hay un tiempo impreso: no muestra ninguna tendencia.
trend-steady = Estable con un margen del { $share }: en estas líneas nada se ralentiza.
trend-scatter = Sin tendencia: los tiempos oscilan entre { $low } y { $high }.
trend-two-speeds = Dos velocidades: { $count } de { $total } iteraciones impresas tardan de { $other_low } a { $other_high }, las demás de { $low } a { $high }: { $factor } veces más { $pace ->
    [faster] rápido
   *[slower] lento
}.
trend-every = Las más { $pace ->
    [faster] rápidas
   *[slower] lentas
} llegan cada { $count } iteraciones.
trend-along = Las iteraciones se vuelven más { $pace ->
    [faster] rápidas
   *[slower] lentas
}: de { $before } a { $after } en estas líneas ({ $share }).
trend-along-times = Las iteraciones se vuelven más { $pace ->
    [faster] rápidas
   *[slower] lentas
}: de { $before } a { $after } en estas líneas ({ $factor } veces).
trend-since = Cerca de un { $share } más { $pace ->
    [faster] rápido
   *[slower] lento
} desde la iteración { $step }: { $before } antes, { $after } a partir de ahí.
trend-since-times = { $factor } veces más { $pace ->
    [faster] rápido
   *[slower] lento
} desde la iteración { $step }: { $before } antes, { $after } a partir de ahí.
data-bottleneck = La espera de datos ocupa el { $share } del tiempo ({ $wait } de { $step } por iteración): la carga es el cuello de botella y la GPU espera.
data-share = La espera de datos ocupa el { $share } del tiempo ({ $wait } de { $step } por iteración).
data-first = Solo la primera línea espera datos: hasta la iteración { $step } cada una esperó { $duration }, después { $usual }. La carga no frena el resto.
data-minor = La espera de datos ocupa el { $share } del tiempo: la carga no es lo que frena esta ejecución.
data-at-once = La espera de datos ocupa el { $share } del tiempo, casi todo en { $count ->
    [one] la iteración { $step }
   *[other] { $count } iteraciones lentas, la más larga en { $step }
} ({ $duration }).
past-total = La cuenta pasa del 100 %: se sigue entrenando un modelo cargado, y el tiempo restante impreso no significa nada.
rate-needs-size = El log solo imprime velocidades: para los segundos por iteración hace falta el tamaño del lote.
rate-one = { $level } { $unit } por segundo en una sola línea: no muestra ninguna tendencia.
rate-one-time = { $level } { $unit } por segundo, impreso una sola vez: no muestra ninguna tendencia.
rate-steady = Estable con un margen del { $share }: { $level } { $unit } por segundo.
rate-scatter = Sin tendencia: la velocidad oscila entre { $low } y { $high } { $unit } por segundo.
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
rate-since = Cerca de un { $share } más { $pace ->
    [faster] rápido
   *[slower] lento
} desde la iteración { $step }: { $before } { $unit } por segundo antes, { $after } a partir de ahí.
rate-since-times = { $factor } veces más { $pace ->
    [faster] rápido
   *[slower] lento
} desde la iteración { $step }: { $before } { $unit } por segundo antes, { $after } a partir de ahí.

## En qué se fue el tiempo

section-time = En qué se fue el tiempo
section-slow = Iteraciones lentas
section-finish = Cuándo termina
section-change = Qué cambiar
section-alarms = Alarmas
section-normal = Iteraciones normales
section-log = Qué se leyó
time-table-phase = fase
time-table-time = tiempo
time-table-share = parte
time-table-range = intervalo
time-table-basis = base
time-total = total

## Iteraciones lentas

slow-none = Ninguna iteración fue más lenta que sus vecinas.
slow-none-alone = Ninguna iteración aislada destaca entre sus vecinas.
slow-column-step = iteración
slow-column-took = tardó
slow-column-why = se compone de
slow-more = { $count ->
    [one] y una más: { $causes }
   *[other] y { $count } más: { $causes }
  }
slow-more-cause = { $count } × { $cause } (+{ $duration })
cause-evaluation = evaluación
cause-checkpoint = checkpoint
cause-warmup = arranque
cause-data = datos
cause-gc = recolección de basura
cause-unexplained = sin explicar
slow-unexplained = { $count ->
    [one] Una iteración lenta no tiene ninguna causa que este log pueda mostrar: { $duration } más que una normal.
   *[other] { $count } iteraciones lentas no tienen ninguna causa que este log pueda mostrar: { $duration } más que las normales.
  }
slow-first-no-save = En la iteración 0 no se guarda nada: lo que allí excede a la evaluación es arranque (compilación, primer acceso), no un checkpoint.
split-stamps = La evaluación y el checkpoint se distinguen por las marcas de tiempo de las líneas.
split-contrast = La evaluación y el checkpoint se distinguen comparando evaluaciones con y sin guardado.
split-first-step = La evaluación y el checkpoint se distinguen por la primera evaluación, que no guarda nada.
split-model = En este log no se pueden separar la evaluación y el checkpoint: cada guardado va junto a una evaluación. El reparto se calcula a partir del número de pases forward y de lo que suele costar guardar; los intervalos dicen cuánto puede desviarse.
split-guess = En este log no se pueden separar la evaluación y el checkpoint: cada guardado va junto a una evaluación, y no se sabe cuántos batches usa una evaluación (indique --set eval_iters=N). El reparto se conjetura a partir de lo que suele costar guardar; los intervalos dicen cuánto puede desviarse.
split-guess-plain = En este log no se pueden separar la evaluación y el checkpoint: cada guardado va junto a una evaluación. El reparto se conjetura a partir de lo que suele costar guardar; los intervalos dicen cuánto puede desviarse.
split-not-yet = Lo que cuesta un guardado aún no se puede determinar: hacen falta unas { $needed } evaluaciones con y sin guardado, y el log tiene { $count }.
split-settle = Para aclararlo, ponga marcas de tiempo en las líneas: { $command }
stamps-unusable = Las marcas de tiempo de las líneas contradicen los tiempos impresos (¿una tubería con búfer por bloques?) y no se usan. Ejecute python con -u.
arrivals-unused = La llegada registrada de las líneas contradice los tiempos que imprimen; valen los impresos.
evidence-marker = sigue a «{ $line }»
evidence-markers = sigue a «{ $line }» y «{ $save }»
evidence-first = la primera iteración del proceso: compilación y primer acceso
evidence-unprinted = una iteración en la que este entrenador siempre evalúa; su línea no está en el log
evidence-inside = medido desde dentro: { $parts }
evidence-none = ninguna línea dice por qué; { $duration } más que sus vecinas

## Cuándo termina

finish-left = faltan { $duration } ({ $span } al { $confidence })
finish-at = termina a las { $time } ({ $low } – { $high })
finish-from-flag = contado desde { $time }, según se indicó
finish-from-stamp = contado desde { $time }, la última marca de tiempo del log
finish-from-stamp-plus = contado desde { $time }, la última marca de tiempo, más { $duration } de iteraciones escritas después
finish-from-no-year = { $text }; no indica el año, se supone { $year } por la fecha del archivo
finish-from-no-day = { $text }; no indica la fecha, se supone el día por la fecha del archivo
finish-from-nvidia-smi = contado desde { $time }, la hora de la tabla de nvidia-smi
finish-from-mtime = contado desde { $time }, la última escritura del archivo
finish-from-clock = contado desde ahora, { $time }
finish-ended = La ejecución ha terminado; esto es lo que aún necesitaría si se reanudara ahora desde su última iteración.
finish-complete = La ejecución está completa: iteración { $step } de { $total }.
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
left-priced = { $what }: { $duration }
left-unpriced = { $what }: coste desconocido
left-line = Quedan: { $items }.
finish-next-evaluation = Próxima evaluación en la iteración { $step }.
rough-own = Quedan unos { $duration } según la cifra del propio entrenador; estas líneas por sí solas no permiten una mejor.
rough-own-first = Quedan unos { $duration } según la propia cifra del entrenador. Se basa en la primera y única iteración, que incluye el arranque: las siguientes suelen ser más rápidas.
rate-and-time = { $rate } { $unit } por segundo y { $duration } por iteración dan { $count } { $unit } por iteración.
skipped-few = { $count ->
    [one] Se ha omitido un paso del optimizador
   *[other] Se han omitido { $count } pasos del optimizador
} hasta ahora.
finish-last-event = Lo último que muestra es de la fase «{ $phase }» (línea { $line }); después no se imprime ninguna iteración.
rough-bar = Quedan unos { $duration } de esta barra de progreso, que puede ser la de una sola época entre varias.
rough-few = Quedan unos { $duration } a esta velocidad{ $range }: una estimación débil, con muy pocas líneas.
rough-first = Quedan unos { $duration } si todas las iteraciones tardan como esta primera y única, que incluye el arranque{ $range }: una estimación débil.
finish-none = No hay hora de finalización: { $reason }
finish-rate = Con los { $duration } por iteración actuales, 1000 más tardan { $thousand }.
finish-rate-evaluations = Con los { $duration } por iteración actuales, 1000 más tardan { $thousand }, { $count ->
        [one] incluida la evaluación
       *[other] incluidas { $count } evaluaciones
    }.
reason-no-steps = el log aún no tiene ninguna iteración normal con tiempo. Vuelva a preguntar tras unas líneas más.
reason-no-times = el log tiene iteraciones, pero sin tiempos: nada en él dice cuánto tardó una.
reason-no-total = el log no dice cuántas iteraciones tiene la ejecución. Indique --max-steps N, o --config con su configuración.
reason-implausible-total = el total indicado de { $total } iteraciones no es creíble: al ritmo actual tardarían otros { $left }. Indica --max-steps N.
reason-too-few = { $count ->
    [one] solo se ha impreso una iteración normal; hacen falta tres para un ritmo. Vuelva a preguntar tras unas líneas más.
   *[other] solo se han impreso { $count } iteraciones normales; hacen falta tres para un ritmo. Vuelva a preguntar tras unas líneas más.
  }
assume-level = El resto avanza al nivel actual, { $duration } por iteración.
assume-no-evaluations = Las evaluaciones no se cuentan: no se sabe cada cuánto llegan. Indique --set eval_interval=N.
assume-evaluations-unannounced = Las evaluaciones que faltan se estiman: no se sabe cada cuánto llegan, pero no ha habido ninguna desde el primer paso. Indique --set eval_interval=N.
assume-evaluation-unpriced = Las evaluaciones no se cuentan: aún no se ha cronometrado ninguna, y no se sabe cuántos batches usa cada una. Indique --set eval_iters=N.
assume-evaluation-prior = Aún no se ha cronometrado ninguna evaluación: su coste se calcula a partir del número de pases forward.
assume-save-prior = Aún no se ha cronometrado ningún guardado: su coste es el habitual.
assume-evaluation-outside = El reloj de este log no incluye las evaluaciones y nada más dice lo que cuestan: el tiempo restante se cuenta con ese reloj, sin ellas.
assume-saves = Tras el { $share } de las evaluaciones se guarda, como últimamente.
assume-default-interval = Se supone una evaluación cada { $count } iteraciones, como viene con el entrenador; el registro aún no lo dice. Indique --set eval_interval=N.
assume-default-total = El número de iteraciones, { $count }, es el valor por defecto del entrenador; no consta en ninguna parte.

## Qué cambiar

change-none = Nada que merezca cambiarse: evaluar y guardar cuestan el { $share } del tiempo.
change-unknown = Sin consejo: este log no muestra lo que cuestan las evaluaciones.
change-scope-rest = Ahorro en lo que queda de esta ejecución; los ahorros no se suman.
change-scope-run = Ahorro en una ejecución como esta; los ahorros no se suman.
change-line = { $change }: ahorra { $duration } ({ $span })
advice-a101-costs = El loss de validación se ve { $factor } veces menos a menudo; si solo se guarda tras una evaluación, un fallo pierde hasta { $steps } iteraciones ({ $duration }).
advice-a101-evidence = { $count } evaluaciones de { $duration } son el { $share } del tiempo. Un intervalo mayor significa menos evaluaciones.
advice-a102-costs = El error estándar del loss de validación pasa de { $before } a { $after }.
advice-a102-costs-unknown = El error estándar del loss de validación se multiplica por { $factor }; este log tiene muy pocos valores de loss para decir desde cuánto.
advice-a102-evidence = Cada evaluación usa { $count } batches de { $splits ->
    [one] una partición
   *[other] { $splits } particiones
  }; el coste crece con su número, la precisión con su raíz cuadrada.
advice-a103-costs = El loss de entrenamiento de la evaluación deja de imprimirse; la media de las líneas de iteración dice lo mismo. Requiere editar estimate_loss en train.py.
advice-a103-evidence = La mitad de cada evaluación mide la partición de entrenamiento, cuyo loss ya imprimen las líneas de iteración.
advice-a104-costs = Tras un fallo, la ejecución se reanuda desde el mejor checkpoint, no desde el último.
advice-a104-evidence = Guardar es el { $share } del tiempo; de las últimas evaluaciones, el { $improving } mejoró la mejor anterior.

## Alarmas

alarm-nan = { $count ->
    [one] El loss es NaN o infinito desde la iteración { $step } (una vez en el log). Lo que sigue entrena en vano.
   *[other] El loss es NaN o infinito desde la iteración { $step } ({ $count } veces en el log). Lo que sigue entrena en vano.
  }
alarm-oom = Sin memoria: { $text }
alarm-crash = Traceback o señal fatal: { $text }
alarm-interrupted = La ejecución fue interrumpida: { $text }
alarm-ended-early = La ejecución terminó antes de tiempo, tras la iteración { $step } de { $total }.
alarm-ended-early-unknown = La ejecución terminó tras la iteración { $step }; el log no dice cuántas estaban previstas.
alarm-ended-before-steps = La ejecución terminó antes de acabar su primera iteración.
alarm-restarted = { $count ->
    [0] La ejecución se reinició tras la iteración { $before }, en la { $step }.
    [one] La ejecución se reinició tras la iteración { $before }, en la { $step }: una iteración ({ $lost }) se hizo dos veces.
   *[other] La ejecución se reinició tras la iteración { $before }, en la { $step }: { $count } iteraciones ({ $lost }) se hicieron dos veces.
  }
alarm-slowdown = Las iteraciones son un { $share } más lentas desde la iteración { $step }: antes { $before }, ahora { $after }.
alarm-contradiction = { $setting } figura como { $stated }, pero el log muestra { $seen }; se cree al log.
alarm-contradiction-mfu = { $setting } figura como { $stated }, pero el mfu y los tiempos impresos corresponden a { $seen }: revise la configuración, o si esta copia del entrenador calcula el mfu con el pico de otra tarjeta.
state-total = la iteración { $step } de { $total } es la última
state-words = el log dice: { $text }
state-last-printed = la iteración { $step } es la última que se imprime de { $total }, y lo que sigue a la última ya se hizo
state-after-stop = el log termina justo después de una evaluación o un checkpoint, que en él son raros; nada indica que faltara algo
state-silent = el log termina sin decir nada y no se sabe cuándo se escribió
state-last-written = el log termina sin decir nada; se escribió por última vez a las { $at }, y lo habitual entre dos líneas es { $usual }
reason-over-state-total = la ejecución está completa: iteración { $step } de { $total }.
reason-over-state-words = la ejecución ha terminado. El log dice: { $text }
reason-over-state-last-printed = la ejecución está completa: la iteración { $step } es la última que se imprime de { $total }.
state-exit = el comando terminó con el código de salida { $code }
state-signal = { $name } terminó el comando (código de salida { $code })
reason-over-state-exit = la ejecución ha terminado: el comando devolvió el código de salida { $code }.
reason-over-state-signal = la ejecución ha terminado: { $name } terminó el comando (código de salida { $code }).
alarm-crash-code = Traceback o señal fatal: { $text } (código de salida { $code })
alarm-exit-code = El comando falló con el código de salida { $code }; su salida no dice por qué.
alarm-signal = { $name } terminó el comando (código de salida { $code }).
alarm-killed = { $name } mató el comando (código de salida { $code }), a menudo por falta de memoria; en ese caso lo dice dmesg.
alarm-walltime = El trabajo termina a las { $time }; la ejecución habrá acabado con una probabilidad de { $share } (la iteración { $step } de { $total } es la última que se puede guardar a tiempo).
alarm-save-now = Guarda ahora: el trabajo termina a las { $time } y la iteración { $step } es la última que se puede guardar a tiempo.
alarm-nan-passed = { $count ->
    [one] Una pérdida no es un número, en la iteración { $step }; desde la iteración { $later } las pérdidas vuelven a ser finitas.
   *[other] { $count } pérdidas no son números, la primera en la iteración { $step }; desde la iteración { $later } vuelven a ser finitas.
}
alarm-nan-unread = { $count } líneas muestran una pérdida que no es un número; la primera es la línea { $line }.
alarm-skipped-steps = Se omitieron { $count } de { $total } pasos del optimizador ({ $share }): sus gradientes no eran finitos, así que ningún peso cambió.
alarm-skipped-since = Desde la iteración { $step } hasta la { $last } se omitió cada paso del optimizador: los pesos ya no cambian.
alarm-memory-pressure = { $count } líneas dicen que la memoria de la tarjeta está tan llena que PyTorch vacía su caché, lo que ralentiza las iteraciones: { $text }
alarm-line = línea { $line }

## Qué se leyó

read-unread = { $unread ->
    [one] De { $lines } líneas, una no se entendió, la { $line }: { $text }
   *[other] De { $lines } líneas, { $unread } no se entendieron, la primera es la { $line }: { $text }
  }
read-all = Se entendieron las { $lines } líneas.

## Notas

note-title = { $count ->
    [one] Por qué fue lenta la iteración { $steps }
   *[other] Por qué fueron lentas las iteraciones { $steps }
  }
note-title-many = Por qué fueron lentas { $count } iteraciones
note-title-none = En qué se fue el tiempo de un entrenamiento
note-title-eta = Tiempo estimado de entrenamiento: { $duration }
note-title-eta-none = Tiempo estimado de entrenamiento: aún desconocido
note-intro = { $count ->
    [one] En { $lines } líneas de log hay una iteración lenta.
   *[other] En { $lines } líneas de log hay { $count } iteraciones lentas.
  }
note-intro-none = En { $lines } líneas de log no hay ninguna iteración lenta.
note-explained = { $count ->
    [one] No es un paso de entrenamiento lento: el reloj del entrenador va del final de una iteración al final de la siguiente, de modo que una evaluación, un checkpoint o una compilación entre medias se cuenta con la iteración que sigue.
   *[other] No son pasos de entrenamiento lentos: el reloj del entrenador va del final de una iteración al final de la siguiente, de modo que una evaluación, un checkpoint o una compilación entre medias se cuenta con la iteración que sigue.
  }
note-slow-lines = Esto es lo que muestra el log alrededor:
note-list-and = { $first } y { $last }
section-progress = Progreso actual
section-evaluations = Evaluaciones restantes
section-estimate = Estimación de tiempo
note-progress-done = Se han completado { $step } de { $total } iteraciones.
note-progress-left = Iteraciones restantes: { $count }.
note-evaluation-every = Cada { $every } iteraciones hay una evaluación, que tarda { $duration } ({ $span }).
note-evaluation-next = La próxima es en la iteración { $next }, luego { $after } …, la última en la { $last }.
note-evaluation-left = Evaluaciones restantes: { $count }.
note-evaluation-unknown = No se sabe cada cuánto evalúa la ejecución.
note-total = Tiempo total restante: { $duration }.
note-interval = Intervalo: { $span }, al { $confidence }.
note-hardware-assumed = Según nvidia-smi: { $details }.
note-assumptions = Se supone:

## Comandos

eta-line = { $left } · { $finish }
formats-title = { $name } — { $title }
formats-clock = Su cifra de tiempo abarca: { $covers }; incluye: { $includes }.
formats-lines = Líneas que conoce:
formats-try-none = Ningún formato del catálogo reconoce este archivo.
formats-try-claimed = { $name }: reconoce { $count } de { $lines } líneas, { $steps } de ellas con una iteración
demo-intro = El caso de referencia: nanoGPT en una RTX 4070, consultado a las 02:30. Lo mismo a mano: { $command }
written = escrito: { $path }
error-title = error
error-try = pruebe

## Errores

error-no-such-file = no existe el archivo
    .hint = { $nearby ->
        [none] revise la ruta; también valen una carpeta, - para la entrada estándar, y archivos .gz, .xz, .zst
       *[other] ¿quería decir { $nearby }?
      }
error-unreadable = no se puede leer: { $reason }
    .hint = revise sus permisos: ls -l { $place }
error-folder-without-log = en esta carpeta no hay ningún log de entrenamiento
    .hint = indique el archivo mismo: stepscope { $place }/train.log
error-empty = el archivo está vacío
    .hint = ¿la salida del entrenador pasa por un búfer? Ejecute python con -u y vuelva a preguntar cuando haya impreso algo
error-binary = no es un archivo de texto
    .hint = indique lo que imprimió el entrenador, por ejemplo: python -u train.py | tee train.log
error-broken-archive = un archivo comprimido que no se puede abrir: { $reason }
    .hint = descomprímalo a mano para ver qué queda: zcat { $place } | stepscope -
error-broken-database = una base de datos que no se puede leer: { $reason }
    .hint = recupera lo que quede con sqlite3 { $place } .recover, o exporta las métricas como CSV
error-no-metrics-table = una base de datos sin tabla metrics: no es de MLflow
    .hint = indica el registro del entrenamiento, o exporta sus métricas como CSV o líneas JSON
error-not-a-training-log = ningún formato reconoce este archivo, y su estructura no es la de un registro de entrenamiento
    .hint = stepscope formats try { $path } --suggest     muestra hasta dónde llega cada formato y cómo enseñar uno nuevo
error-no-format-fits = ningún formato reconoce este archivo; líneas como esta pueden ser iteraciones, pero no se pudo saber cuál de sus números es el paso o el tiempo
    .hint = stepscope formats try { $path } --suggest     muestra hasta dónde llega cada formato y cómo enseñar uno nuevo
error-no-such-config = no existe el archivo de configuración
    .hint = --config espera el archivo con que se lanzó la ejecución, por ejemplo config/train_gpt2.py
error-config-is-folder = la configuración es una carpeta
    .hint = indique el archivo mismo
error-config-too-large = demasiado grande para un archivo de configuración
    .hint = ¿es este el log? stepscope { $place }
error-config-not-text = la configuración no es un archivo de texto
    .hint = --config espera el config.py de nanoGPT, JSON o TOML
error-config-syntax = la configuración no se puede interpretar: { $reason }
    .hint = corríjala, o indique lo que importa: --set max_iters=20000 --set eval_interval=500
error-config-too-deep = la configuración tiene más de { $limit } niveles anidados
    .hint = indica solo lo que importa: --set max_iters=20000 --set eval_interval=500
error-config-too-many-values = la configuración contiene más de { $limit } valores una vez expandidos sus alias
    .hint = indica solo lo que importa: --set max_iters=20000 --set eval_interval=500
error-not-nvidia-smi = no es una tabla de nvidia-smi
    .hint = nvidia-smi > nvidia-smi.txt
error-nvidia-smi-too-large = por esta tubería llegaron más de { $size }
    .hint = guardar una sola lectura: nvidia-smi > smi.txt
error-bad-setting = --set espera clave=valor
    .hint = por ejemplo: --set eval_interval=500
error-unknown-setting = no hay ningún ajuste con ese nombre
    .hint = { $nearest ->
        [none] hay: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-bad-count = { $setting } es un número entero, 1 como mínimo
    .hint = por ejemplo: --set { $setting }=500
error-bad-max-steps = --max-steps espera un número entero, 1 como mínimo
    .hint = por ejemplo: --max-steps 20000
error-bad-moment = no es un momento: { $text }
    .hint = por ejemplo: --now 02:30, --now "2026-11-15 02:30", --now 1794768092
error-bad-confidence = --confidence está entre 0.5 y 0.99
    .hint = por ejemplo: --confidence 0.9
error-bad-language = no hay tal idioma: { $text }
    .hint = { $nearest ->
        [none] hay: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-bad-choice = { $flag } no puede ser { $text }
    .hint = { $nearest ->
        [none] hay: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-no-such-command = no hay ningún comando con ese nombre
    .hint = { $nearest ->
        [none] hay: { $known }
       *[other] ¿querías decir { $nearest }?
      }
error-unknown-flag = no existe la opción { $flag }
    .hint = { $nearest ->
        [none] { $command } --help     muestra lo que hay
       *[other] ¿querías decir { $nearest }?
      }
error-unknown-command = no es ni un comando ni un archivo
    .hint = quizás querías decir: stepscope { $nearest }
error-too-many-arguments = sobran argumentos para { $command }
    .hint = { $command } --help     muestra lo que hay
error-wrong-usage = { $reason }
    .hint = { $command } --help     muestra lo que hay
error-missing-argument = falta un argumento: { $missing }
    .hint = { $command } --help     muestra lo que hay
error-missing-value = { $flag } necesita un valor
    .hint = { $command } --help     muestra lo que hay
error-languages-need-folder = varios idiomas dan varios archivos
    .hint = indique una carpeta para ellos: -o notas/
error-no-such-format = no hay ningún formato con ese nombre
    .hint = { $nearest ->
        [none] stepscope formats     los enumera
       *[other] ¿querías decir { $nearest }?
      }
error-no-such-code = no hay página con ese código
    .hint = hay: { $known }
error-cannot-write = no se puede escribir: { $reason }
    .hint = indique otro lugar con -o
error-unread-lines = { $count ->
    [one] una línea no se entendió (--strict)
   *[other] { $count } líneas no se entendieron (--strict)
  }
    .hint = stepscope formats try { $path }     las muestra

## Un plan antes de la ejecución

plan-model = { $parameters } parámetros: { $layers } capas × { $hidden }, contexto { $context }, vocabulario { $vocabulary }
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
plan-row-band = … banda del 90 %
plan-row-tokens = tokens por segundo
plan-row-utilisation = MFU de esta tarjeta
plan-row-evaluation = una evaluación
plan-row-checkpoint = un checkpoint
plan-row-total = toda la ejecución
plan-row-finish = termina a las
plan-row-energy = energía
plan-row-cost = coste
plan-fits = { $used } de { $total }
plan-fits-barely = { $used } de { $total }, justo
plan-fits-not = { $used } de { $total }, demasiado
plan-fits-nothing = { $gpu }: no cabe ni una secuencia en su memoria. Usa un modelo o un contexto más pequeños.
plan-calibrating = midiendo esta máquina …
plan-note-calibrated = Medido aquí ({ $gpu }): { $tflops } TFLOPS, memoria { $bandwidth } GB/s, disco { $disk } MB/s.
plan-note-defaults = Sin indicar, así que los valores por defecto del programa: { $names }.
plan-note-derived = El tamaño del modelo no está indicado. { $duration } para { $tokens } tokens en { $gpu } corresponden a entre { $low } y { $high } de parámetros; la tabla toma uno intermedio. Para estar seguro, indícalo: --params, o n_layer y n_embd en la configuración.
plan-note-derived-memory = El tamaño del modelo no está indicado. { $duration } para { $tokens } tokens en { $gpu } y la memoria en uso corresponden a entre { $low } y { $high } de parámetros; la tabla toma uno intermedio. Para estar seguro, indícalo: --params, o n_layer y n_embd en la configuración.
error-unknown-card = no hay ninguna tarjeta con ese nombre
    .hint = por ejemplo: { $known }
error-plan-needs-card = ¿qué tarjeta?
    .hint = nómbrala: --gpu 4070, o varias: --gpu 4070,4080,4090; o mide esta máquina: --calibrate
error-plan-needs-model = ¿qué modelo?
    .hint = --config config/train_gpt2.py, o --params 124M, o --layers 12 --hidden 768
error-plan-shape-missing = a la configuración le falta lo que determina el tamaño de un modelo: { $names }
    .hint = añádelo con --set, o indica el tamaño: --params 7B
error-plan-bad-shape = ningún modelo tiene esa forma
    .hint = por ejemplo: --layers 12 --hidden 768 --context 1024 --vocab 50304
error-bad-parameters = no es un número de parámetros
    .hint = por ejemplo: --params 124M
error-bad-devices = --devices es un número entero de al menos 1
    .hint = por ejemplo: --devices 8
error-bad-price = no es un precio
    .hint = por ejemplo: --price 0.40/h o --price 0.30/kWh
error-plan-from-needs-card = ¿qué tarjeta escribió este registro?
    .hint = --from-gpu 4070, o una tabla guardada: --nvidia-smi nvidia-smi.txt
error-plan-needs-context = ¿cuántos tokens tiene una secuencia? El registro no lo dice
    .hint = por ejemplo: --context 1024
error-plan-log-untimed = este registro no tiene ninguna iteración normal con tiempo para calibrar
    .hint = planifica sin él, o vuelve a preguntar cuando tenga unas líneas más
error-plan-not-derived = ningún modelo de forma habitual tarda tanto en esa tarjeta: ¿son correctos la tarjeta y el lote?
    .hint = indica el modelo: --params 124M
## Several trainings, several writers
alarm-trainings = El log contiene { $count } entrenamientos, uno tras otro. Esta respuesta trata del último, desde la línea { $line }; los segundos de los demás están en el desglose.
alarm-writers = { $count ->
    [one] Dos procesos escriben en este log. Una iteración del otro no se cuenta.
   *[other] Dos procesos escriben en este log. { $count } iteraciones del otro no se cuentan.
  }
alarm-straggler = El rango { $rank } es un { $share } más lento que los demás: { $own } por iteración en lugar de { $others }. Todos los rangos lo esperan.
alarm-straggler-host = El rango { $rank } en { $host } es un { $share } más lento que los demás: { $own } por iteración en lugar de { $others }. Todos los rangos lo esperan.

## Más consejos, y qué haría un cambio

advice-a102-costs-seen = El error estándar del loss de validación crece de { $before } a { $after }; el loss aún baja { $gain } por evaluación, lo que sigue siendo visible.
advice-a102-costs-unseen = El error estándar del loss de validación crece de { $before } a { $after }; el loss baja { $gain } por evaluación, lo que una sola evaluación ya no muestra.
advice-a105-costs = La curva es más lisa, pero su nivel se desvía en una constante de unos { $offset }: mide una vez con muchos batches al final. Requiere editar la evaluación: la misma semilla para sus batches cada vez.
advice-a105-costs-unknown = La curva es más lisa, pero su nivel tiene una desviación constante: mide una vez con muchos batches al final. Requiere editar la evaluación: la misma semilla para sus batches cada vez.
advice-a105-evidence = Cada evaluación toma { $count } batches nuevos. Con los mismos batches cada vez, las diferencias tienen de 4 a 7,6 veces menos ruido por el mismo coste, así que { $fewer } muestran la tendencia.
advice-a107-costs = Solo una edición: cada proceso evalúa su parte de los mismos batches y los losses se promedian.
advice-a107-evidence = Uno de { $count } procesos evalúa mientras los demás esperan.
advice-a108-costs = Una caída pierde hasta { $duration } de trabajo.
advice-a108-evidence = Un guardado detiene el entrenamiento { $duration }; con una caída cada { $between }, la regla de Daly da { $best } como mejor intervalo.
advice-a109-costs = Memoria del equipo para una copia del estado, e iteraciones algo más lentas mientras se escribe.
advice-a109-evidence = El entrenamiento se detiene por guardados durante el { $share } del tiempo.
advice-a111-costs = La memoria retenida por ciclos solo se libera al recogerla a mano, cada pocos miles de iteraciones.
advice-a111-evidence = La recolección de basura cuesta el { $share } del tiempo.
advice-a112-costs = Memoria del equipo y tiempo de procesador para los procesos de carga.
advice-a112-evidence = Esperar los datos cuesta el { $share } del tiempo.
advice-a113-costs = Los mismos tokens por iteración: batch_size { $batch } × gradient_accumulation_steps { $accumulation }. Solo cambia el redondeo de la suma. Si se queda sin memoria, vuelve atrás.
advice-a113-evidence = Solo el { $share } de la memoria de la tarjeta está en uso.
advice-a114-costs = float16 necesita escalar el loss, cosa que nanoGPT, Hugging Face y Lightning hacen solos; los losses difieren ligeramente.
advice-a114-evidence = { $gpu } no tiene bfloat16 en hardware: se emula a una décima parte de la velocidad.
advise-paste = escribe: { $paste }
advise-keeps = No cambia lo que se aprende.
advise-changes = Cambia lo que se aprende.
section-whatif = Qué cambiaría
whatif-change = { $setting }: { $now } → { $then }
whatif-saves = Ahorra { $duration } ({ $span }).
whatif-costs = Cuesta { $duration } más ({ $span }).
whatif-same = No cambia nada en el tiempo.
whatif-left = Quedan { $duration } en vez de { $before } ({ $span } al { $confidence })
whatif-run = Una ejecución como esta tarda { $duration } en vez de { $before }.
whatif-precision = El error estándar del loss de validación pasa de { $before } a { $after }.
whatif-unknown = Este log no puede decir qué haría { $names } con el tiempo.
error-bad-change = --change necesita clave=valor
    .hint = por ejemplo: --change eval_interval=1000
error-bad-change-value = { $setting } es un número entero de al menos 1
    .hint = por ejemplo: --change { $setting }=500

## La tarjeta

card-mfu = { $gpu }: { $share } de sus { $peak } TFLOPS (MFU respecto al máximo de esta tarjeta).
card-normal = Es lo normal en ella: un modelo de este tamaño debería tardar { $span }.
card-slow = Es lento para ella: un modelo de este tamaño debería tardar { $span }.
card-fast = Es más rápido de lo esperado: un modelo de este tamaño debería tardar { $span }.
alarm-hang = Un rango dejó de responder y los demás desistieron: { $text }
alarm-false-done = La línea { $line } dice que el entrenamiento ha terminado, pero la última iteración es la { $step } de { $total }.
alarm-false-done-empty = { $count ->
    [one] La línea { $line } dice que el entrenamiento ha terminado, pero ese lanzamiento falló antes de su primera iteración.
   *[other] La línea { $line } y en total { $count } líneas como esa dicen que el entrenamiento ha terminado, pero esos lanzamientos fallaron antes de su primera iteración.
  }

## El entrenador

train-loading = Iniciando PyTorch y preparando los datos …
train-progress = iteración { $iteration } de { $last }, quedan { $left }
train-doing-evaluation = iteración { $iteration } de { $last }: evaluando …
train-doing-checkpoint = iteración { $iteration } de { $last }: copiando aparte el checkpoint …
train-doing-compile = compilando …
train-doing-sampling = { $last } iteraciones hechas: escribiendo una muestra …
train-doing-waiting = esperando a que el último checkpoint esté en el disco …
train-opening-what = Un GPT pequeño ({ $layers } capas, { $width } de ancho) aprende Python con las fuentes de la biblioteca estándar: { $iterations } iteraciones en { $device }, unos minutos.
train-opening-when = Cada { $interval } iteraciones se evalúa y se guarda en { $folder }; Ctrl-C lo guarda y muestra la orden para seguir.
train-opening-end = Al final: lo que escribe para entonces y en qué se fue el tiempo.
train-sample-before = Lo que escribía antes de aprender nada:
train-sample = Lo que escribe después de { $iteration } iteraciones:
train-ledger = En qué se fueron { $wall } ({ $iterations } iteraciones):
train-phase-data = leer datos
train-phase-forward = hacia delante (forward)
train-phase-backward = hacia atrás (backward)
train-phase-optimizer = optimizador
train-phase-device = esperar al dispositivo
train-phase-evaluation_train = evaluación, parte de entrenamiento
train-phase-evaluation_val = evaluación, parte de validación
train-phase-checkpoint_staging = checkpoint: copiar aparte
train-phase-checkpoint_waiting = checkpoint: esperar al escritor
train-phase-logging = registro
train-phase-gc = recolección de basura
train-phase-compile = compilar
train-phase-startup = arranque
train-phase-sampling = generar texto
train-phase-other = otros
train-saves = { $count ->
    [one] Un checkpoint de { $size } MB, escrito en { $written } en segundo plano; la ejecución se detuvo { $stalled }: { $saved } menos que esperando al disco.
   *[other] { $count } checkpoints de { $size } MB cada uno, escritos en { $written } en segundo plano; la ejecución se detuvo { $stalled }: { $saved } menos que esperando al disco.
  }
train-interference = Las iteraciones durante la escritura tardaron { $ratio } veces lo que las demás.
train-more = Checkpoint y registros: { $folder }. Después: stepscope sample --out_dir={ $folder }, o stepscope { $folder }
train-stopped = { $signal }: detenido antes de la iteración { $iteration } y guardado. Para seguir: { $command }
train-no-wandb = wandb_log está activado, pero wandb no está instalado (pip install wandb). El entrenamiento sigue; sus cifras están en steps.jsonl, en la carpeta de la ejecución.
train-no-tensorboard = tensorboard está activado, pero TensorBoard no está instalado (pip install tensorboard). El entrenamiento sigue; sus cifras están en steps.jsonl, en la carpeta de la ejecución.
train-no-tracker = No se pudo iniciar { $name } ({ $reason }). El entrenamiento sigue sin él.
train-kept = Los registros y el mejor checkpoint de la ejecución anterior de esta carpeta están en { $folder }.
train-unknown-setting = { $setting } en { $path } no es un ajuste de este entrenador y no tiene efecto.
train-bf16-crashes = bfloat16 se bloquea en esta CPU (probado en un proceso hijo): se entrena en float32.
train-bf16-slower = bfloat16 tarda { $ratio } veces lo que float32 en esta CPU (probado en un proceso hijo): se entrena en float32.
train-cuda-only = { $dtype } es solo para CUDA: se entrena en float32 en { $device }.
train-staging = Los checkpoints guardan una copia de { $size } GB en la memoria del sistema para que el entrenamiento no espere al disco (--staging=False espera y no guarda ninguna).
train-staging-tight = Los checkpoints guardan una copia de { $size } GB en la memoria del sistema y quedan { $left } GB: --staging=False no guarda ninguna y el entrenamiento espera al disco.
train-broken-checkpoint = No es un checkpoint completo, se prueba el anterior: { $path } ({ $reason }).
train-from-checkpoint = { $setting } es { $value } en el checkpoint, y eso vale; se pidió { $asked }.
train-other-batches = Los lotes no son los del checkpoint (otros tamaños, evaluación o número de procesos): el orden de los datos empieza de nuevo.
train-save-failed = ALARMA: el checkpoint de la iteración { $iteration } no se escribió: { $reason }. El entrenamiento sigue; el checkpoint anterior está intacto.
data-ready = { $folder }: { $train } tokens para entrenar, { $val } para validar
data-use = Para usarlo: { $command }
data-download = Descargando { $url } …
train-shard-alone = shard no tiene efecto con un solo proceso: torchrun inicia varios.
selftest-begins = Probando { $count } partes del entrenador en { $device }:
selftest-pass = bien
selftest-fail = FALLO
selftest-ends = { $failed ->
    [0] Todas las partes funcionan.
    [one] Falla { $failed } de { $count } partes.
   *[other] Fallan { $failed } de { $count } partes.
}
selftest-precision = loss { $loss } en { $dtype }, { $other } en float32
selftest-compile = loss { $loss } compilado, { $other } sin compilar
selftest-memory = una evaluación de { $sequences } secuencias necesita { $evaluation } MB, un paso de entrenamiento { $step } MB
selftest-clock = { $steps } iteraciones suman { $counted } s, el bucle tardó { $loop } s
selftest-checkpoint = { $differing } tensores difieren del momento de guardar; la espera más larga fue de { $stall } s
selftest-resume = difieren { $differing } de { $steps } valores de loss y { $tensors } tensores frente al entrenamiento sin interrupción
selftest-sample = { $tokens } tokens, iguales las dos veces
selftest-muon = valores singulares de una actualización entre { $least } y { $most } en { $dtype }
selftest-processes = dos procesos por { $backend }: el loss difiere del de un proceso en { $worst }
selftest-shard = dos procesos con fragmentos por { $backend }: el loss difiere del de un proceso en { $worst }
export-done = { $path }: { $size } MB, antes de la iteración { $iteration }
error-train-no-slices = aquí no hay ningún checkpoint en partes
    .hint = el que escribe train --shard=True es una carpeta con ese nombre; ckpt.pt no hace falta exportarlo
error-train-no-torch = para entrenar hace falta PyTorch
    .hint = { $install }
error-train-setting-type = { $setting } espera un valor de tipo { $wanted }
    .hint = por ejemplo: --{ $setting }=… con un { $wanted }, como en nanoGPT
error-train-choice = no existe ese { $setting }
    .hint = hay: { $known }
error-train-range = { $setting } está fuera de rango
    .hint = empieza en { $least }; dropout, beta1 y beta2 son menores que 1
error-train-heads = n_embd debe ser múltiplo de n_head
    .hint = por ejemplo: --n_embd=384 --n_head=6
error-train-odd-head = las posiciones rotatorias necesitan cabezas de ancho par (n_embd / n_head)
    .hint = por ejemplo: --n_embd=384 --n_head=6, o --recipe=nanogpt
error-train-gpt2-recipe = los pesos de GPT-2 solo valen para la red de GPT-2
    .hint = --recipe=nanogpt
error-train-unknown-character = el corpus no contiene { $character }
    .hint = empieza con caracteres que la red haya visto
error-train-not-saved = el entrenamiento ha terminado, pero su último checkpoint (iteración { $iteration }) no se escribió: { $reason }
    .hint = { $saved ->
        [0] no hay ningún checkpoint: liberar espacio y volver a entrenar
       *[other] el checkpoint completo más reciente es el de la iteración { $saved }: liberar espacio y continuar desde él con --init_from=resume
      }
error-train-bad-meta = meta.pkl no es de nanoGPT: { $reason }
    .hint = créalo de nuevo: stepscope data prepare FILE
error-train-no-data = no hay datos con ese nombre
    .hint = créalos con stepscope data prepare FILE --out data/{ $name }, o indica una carpeta con train.bin y val.bin: --dataset=DIR
error-train-short-data = { $tokens } tokens son pocos para secuencias de { $block_size }, o el archivo no es de tokens de 16 bits
    .hint = usa más texto o un --block_size menor
error-train-unreadable = no se puede leer: { $reason }
    .hint = comprueba el nombre y los permisos
error-train-vocabulary = el token { $token } no cabe en un vocabulario de { $vocab_size }
    .hint = los datos no son los de este checkpoint o meta.pkl: indica el --dataset correcto, o empieza con --init_from=scratch
error-train-no-tiktoken = los pares de bytes de GPT-2 necesitan tiktoken
    .hint = { $install }, o --tokens char
error-train-tiktoken-download = tiktoken no pudo descargar las tablas de GPT-2 ({ $reason })
    .hint = cópialas de una máquina que las tenga y define TIKTOKEN_CACHE_DIR, o --tokens char
error-train-no-stdlib = este Python no trae las fuentes de su biblioteca estándar
    .hint = prepara un texto propio: stepscope data prepare FILE
error-train-no-safetensors = los pesos de GPT-2 necesitan safetensors
    .hint = { $install }
error-train-bad-gpt2 = no es una carpeta de pesos de GPT-2: { $reason }
    .hint = contiene config.json y model.safetensors tal como los publica Hugging Face
error-train-no-gpt2 = no hay pesos de { $name } aquí, y no se descarga nada
    .hint = hf download openai-community/{ $name } --local-dir { $name }, y luego --gpt2_folder={ $name }
error-train-no-checkpoint = no hay checkpoint del que partir
    .hint = indica su carpeta con --out_dir, o empieza con --init_from=scratch
error-train-no-whole-checkpoint = ningún checkpoint completo: { $reason }
    .hint = empieza con --init_from=scratch, o copia ahí uno completo
error-train-bad-checkpoint = el checkpoint no encaja: { $reason }
    .hint = tiene que ser de este entrenador o del train.py de nanoGPT
error-train-block-size = la red cargada lee { $block_size } tokens como máximo
    .hint = --block_size={ $block_size } o menos
error-train-accumulation = { $processes } procesos no pueden repartirse por igual ese número de microlotes
    .hint = haz que gradient_accumulation_steps sea múltiplo de { $processes }
error-train-memory = sin memoria
    .hint = --batch_size={ $batch_size } --gradient_accumulation_steps={ $accumulation } entrena con los mismos tokens y menos memoria; o reduce block_size, n_layer o n_embd
error-train-rank-lost = otro proceso de la ejecución ha desaparecido: { $reason }
    .hint = mira qué dijo y arranca todos de nuevo con --init_from=resume
error-selftest-alone = --selftest no admite más ajustes que --device
    .hint = stepscope train --selftest --device=cuda
error-train-compile = torch.compile falló: { $reason }
    .hint = --compile=False entrena sin él
error-train-nan = la pérdida es { $value } en la iteración { $iteration }: detenido
    .hint = prueba con un learning_rate menor o más warmup_iters; ckpt.pt, si lo hay, es de antes y bueno: --init_from=resume
error-sample-no-meta = los caracteres de esta red están en meta.pkl de su carpeta de datos, que no está aquí
    .hint = ejecútalo donde se entrenó: en la carpeta que contiene data/{ $name }
error-train-locked = otro entrenador está usando esta carpeta (proceso { $process })
    .hint = da a cada ejecución su propia carpeta: --out_dir=DIR
error-train-misspelt = no existe el ajuste { $setting }
    .hint = { $meant } sí existe
error-train-out-dir = no se puede escribir ahí: { $reason }
    .hint = indica otra carpeta
error-train-device = no existe ese dispositivo
    .hint = --device=cpu, cuda, cuda:1 o mps
error-train-no-device = PyTorch no encuentra ningún dispositivo { $name } aquí
    .hint = --device=cpu --compile=False
error-train-config-expression = { $setting } solo se sabría ejecutando el archivo, y los config se leen, no se ejecutan
    .hint = escribe el valor mismo, o quita la línea y dalo como opción: --{ $setting }=…
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

## En vivo

live-now = ahora
live-left = final
live-steps = pasos
live-time = tiempo
live-loss = loss
live-waiting = esperando las primeras líneas ({ $duration })
live-warmup = arrancando: compilación, primer contacto ({ $duration }); aún sin pronóstico
live-training = entrenando, última línea hace { $duration }
live-evaluation = evaluando desde hace { $duration }
live-checkpoint = guardando desde hace { $duration }
live-stalled = ninguna línea desde hace { $duration }: ¿parado?
live-closing = todas las iteraciones están hechas; el proceso sigue en marcha
live-finished = terminado
live-ended = acabado antes de tiempo
live-usual = (suele tardar { $duration })
alarm-stall = Ninguna línea desde hace { $duration }; lo habitual serían { $usual }, y { $limit } es el límite. Mira el proceso: stepscope attach PID
run-kept = registro y marcas de tiempo: { $folder }     stepscope { $folder }
run-kept-partly = log y marcas de tiempo: { $folder }, sin { $count ->
    [one] un byte
   *[other] { $count } bytes
  } de salida que no cupieron en el disco     stepscope { $folder }
alarm-disk = { $folder } ya no admite más log: { $reason }. El comando sigue y su salida se muestra aquí hasta el final.
alarm-recording-gone = { $folder } se ha borrado: la grabación se ha perdido. El comando sigue y su salida se muestra aquí hasta el final.
error-run-not-started = no se pudo iniciar el comando
    .hint = este archivo dice por qué
error-run-no-code = el comando ha terminado, pero nadie vio cómo: se mató a los procesos que lo sabrían
    .hint = el log acaba con lo último que imprimió: stepscope { $place }
error-run-what = ¿qué hay que ejecutar?
    .hint = por ejemplo: stepscope run -- python train.py
error-needs-posix = esto solo funciona en Linux y macOS
    .hint = stepscope watch train.log     sigue un registro en cualquier sistema
error-needs-extra = esto necesita el extra { $extra }
    .hint = { $install }
error-bad-address = no es una dirección de envío
    .hint = por ejemplo: --notify mailto://user:pass@example.org
error-bad-interval = --interval son segundos, de 0.05 a 3600
    .hint = por ejemplo: --interval 2
error-watch-one-log = un registro cada vez
    .hint = sigue la parte más reciente de la ejecución
live-place = en { $place }
attach-log = su registro: { $path }
attach-no-stack = No se puede ver la pila ({ $reason }). Ejecútalo como el mismo usuario, o permítelo: sudo sysctl kernel.yama.ptrace_scope=0
error-no-such-process = no hay tal proceso
    .hint = pgrep -af python     muestra los que hay
error-process-not-ours = este proceso es de otro usuario
    .hint = pregunta como él: sudo -u USUARIO stepscope attach { $place }
error-process-without-log = este proceso escribe en un terminal o una tubería, no en un archivo
    .hint = nombra su registro: stepscope attach { $pid } --log train.log; o inícialo con: stepscope run -- CMD
error-bad-speed = --speed es un número mayor que 0
    .hint = por ejemplo: --speed 50
error-replay-file = solo se puede repetir un archivo
    .hint = guárdalo antes: cat > train.log
## Causas

cause-accumulation = acumulación
cause-announced = trabajo anunciado
cause-async-checkpoint = guardado asíncrono
cause-attention = cálculo lento
cause-denormals = números desnormales
cause-heat = calor
cause-interruption = interrupción
cause-leak = crecimiento
cause-length = lote más largo
cause-logging = escritura del log
cause-memory = memoria llena
cause-neighbour = otro programa
cause-optimizer = trabajo periódico del optimizador
cause-power = límite de potencia
cause-profiler = perfilador
cause-recompile = recompilación
cause-schedule = planificación
cause-straggler = rango lento
cause-c01-evidence = su tiempo contiene una evaluación de { $duration }
cause-c01-rest = la línea de la evaluación declara { $duration }; aquí cada evaluación trae { $rest } más
cause-c01-beside = está junto a la línea de una evaluación, como en casi todas las evaluaciones de aquí: { $duration } más
cause-c01-period = llega con el intervalo de las evaluaciones, cada { $every } iteraciones ({ $count } veces), aunque ninguna línea lo dice
cause-c02-evidence = su tiempo contiene un guardado de { $duration }
cause-c02-period = llega con el intervalo de los checkpoints, cada { $every } iteraciones ({ $count } veces), aunque ninguna línea lo dice
cause-c03-evidence = llega justo después de un guardado, y al { $share } de los { $count } guardados les siguen iteraciones lentas
cause-c04-evidence = entre las primeras iteraciones del proceso: { $duration } de compilación y primeros accesos
cause-c05-evidence = la primera evaluación tardó { $own }, las { $count } siguientes { $others }
cause-c05-level = empieza justo después de la primera evaluación, antes de la iteración { $step }
cause-c06-partial = la última iteración de una época de { $count }: un lote parcial tiene otra forma
cause-c06-fading = una de { $count } iteraciones lentas cada vez más raras, el { $share } en el primer cuarto: cada vez se ven menos formas nuevas
cause-c06-level = empieza con una sola iteración muy lenta, la { $step } ({ $duration } más)
cause-c08-printed = una línea dice que se recogió basura durante { $duration }
cause-c08-evidence = { $count } iteraciones se retrasan más o menos lo mismo, { $duration } (± { $share }), sin intervalo fijo, como cuando Python recoge basura
cause-c09-twins = las iteraciones lentas llegan cada { $first } y cada { $second } iteraciones, dos peines que se separan: los rangos llegan al final de un fragmento de datos con un paso de diferencia
cause-c09-tokens = cada { $every } iteraciones, es decir, { $shard } tokens de un fragmento a { $tokens } por paso
cause-c09-evidence = cada { $every } iteraciones, que no es un número entero, { $count } veces: como cuando se acaba un fragmento de datos
cause-c09-whole = cada { $every } iteraciones: así puede caer el final de un fragmento de datos
cause-c10-evidence = exactamente cada { $every } iteraciones, siempre unos { $duration } más: trabajo previsto del optimizador
cause-c11-workers = las iteraciones lentas distan entre sí tanto como procesos de carga hay, { $count }
cause-c11-evidence = cada { $every } iteraciones, en cantidades variables (± { $share }): como cuando tantos procesos de carga no dan abasto
cause-c12-evidence = la primera iteración de una época de { $steps }; el { $share } de las { $count } épocas empieza despacio
cause-c12-period = al borde de cada época de { $steps } iteraciones ({ $count } veces): los procesos de carga arrancan de nuevo
cause-c13-evidence = el nivel bajó un { $share } al principio de la ejecución ({ $done } de ella) y así siguió, como cuando los datos ya se han leído una vez
cause-c14-evidence = durante ella se pidió un fichero que tardó { $own } en responder; los otros { $count } tardan { $usual }
cause-c16-more = { $count } reintentos de asignación en su ventana, { $usual } en una normal
cause-c16-usual = { $count } reintentos de asignación en su ventana, pero también { $usual } en las demás: cuestan en todas, no más en esta
cause-c17-full = un { $change } más lento de golpe y para siempre, con el { $share } de la memoria de la tarjeta en uso: puede haber páginas en la memoria del equipo
cause-c17-evidence = un { $change } más lento de golpe y para siempre: en Windows o WSL, la memoria llena de la tarjeta hace eso
cause-c18-evidence = un { $change } más lento, sube y luego se estabiliza, como cuando una tarjeta alcanza su temperatura
cause-c18-follows = un { $change } más lento, y las evaluaciones en la misma proporción: se ha ralentizado todo lo que calcula
cause-c19-pinned = la tarjeta consume el { $share } de su límite de potencia
cause-c19-evidence = un { $change } más lento y constante: un límite de potencia o de reloj haría eso
cause-c20-window = un { $change } más lento con bordes bruscos, y luego de vuelta al nivel anterior: alguien vino y se fue
cause-c20-back = un { $share } más rápido, de vuelta a un nivel anterior: quien compartía la máquina se ha ido
cause-c20-evidence = un { $change } más lento de golpe: puede haber empezado otro programa en la tarjeta o en el equipo
cause-c20-burst = una de { $count } iteraciones lentas de todo tamaño en { $steps } líneas: puede que otros compartan la máquina
cause-c21-evidence = el rango más lento tardó { $slowest } donde el más rápido tardó { $fastest }: los demás lo esperaron
cause-c22-evidence = una sola pausa de { $duration } entre iteraciones de { $level }: suspendida, bloqueada o colgada
cause-c24-evidence = cada { $every } iteraciones, múltiplo del intervalo del log de { $interval }, con iteraciones cortas
cause-c25-memory = { $count } micropasos de { $batch } secuencias por paso, con el { $share } de la memoria de la tarjeta en uso: cabría un lote mayor con menos micropasos
cause-c25-small = { $count } micropasos de { $batch } secuencias por paso para un modelo de { $parameters } parámetros en una tarjeta: ¿era para ocho?
cause-c26-attention = la cabecera avisa de atención lenta: cada iteración la calcula sin núcleo fusionado
cause-c26-dtype = la ejecución calcula en coma flotante de 32 bits en una GPU: sus tensor cores quedan ociosos
cause-c27-evidence = tenía { $factor } veces el trabajo habitual, y en esta ejecución el tiempo sigue al trabajo (correlación { $tied })
cause-c27-level = el trabajo por iteración cambió { $factor } veces con él
cause-c28-evidence = la primera iteración tras reanudar en { $step }: cargar, compilar y saltar llevó { $duration }
cause-c29-evidence = un aumento constante del { $change } a lo largo de la ejecución que no se estabiliza, como cuando algo crece con cada iteración
cause-c30-evidence = un aumento en la CPU: puede que números cercanos a cero sean ya desnormales
cause-c32-evidence = una línea anterior habla de una traza del perfilador
cause-c33-evidence = la primera iteración tras una evaluación; el { $share } de las { $count } evaluaciones tiene una así
cause-c33-period = la iteración que sigue a una evaluación es lenta { $count } veces, aunque el reloj de este log excluye las evaluaciones
cause-c34-evidence = un cambio del { $change } a lo largo de la ejecución casi sin ruido (± { $noise }): más bien planificado que crecido
cause-c35-evidence = el log dice que esperó { $duration } a sus datos
cause-c35-figure = esperó a sus datos { $own } por iteración, normalmente { $usual }
cause-c35-level = la espera de datos cambió con él, de { $before } a { $after } por iteración: el { $share } del cambio
cause-c36-evidence = antes hay una línea que aparece ante { $count } iteraciones, { $hits } de ellas lentas
cause-c36-evaluation = las evaluaciones con una línea así delante tardan { $own }, las demás { $others } ({ $count } de ellas)
level-slower = Desde la iteración { $step }, las iteraciones son un { $share } más lentas ({ $duration }).
level-faster = Desde la iteración { $step }, las iteraciones son un { $share } más rápidas ({ $duration }).
level-candidate = Mejor explicación: { $cause } ({ $code }, seguridad del { $confidence }): { $evidence }.
level-others = También es posible: { $others }.
level-none = Nada en el log dice por qué.
candidate-short = { $cause } ({ $code }, { $confidence })
slow-rhythm = Cada { $every } iteraciones, una tarda { $duration } más, { $count } veces hasta ahora: { $cause } ({ $code }).
slow-rhythm-maybe = Cada { $every } iteraciones, una tarda { $duration } más, { $count } veces hasta ahora; nada dice con seguridad por qué. Lo más probable: { $candidate }.
slow-rhythm-unknown = Cada { $every } iteraciones, una tarda { $duration } más, { $count } veces hasta ahora; nada dice por qué.
finding-line = Toda la ejecución: { $evidence } ({ $code }).
settle-stamps = Unas marcas de tiempo en las líneas distinguirían una pausa de la máquina de una iteración lenta: { $command }
settle-data = Imprimir cuánto espera cada iteración a su lote aclararía si los datos llegaron tarde.
settle-gpu = nvidia-smi mientras ocurre (y --nvidia-smi FICHERO aquí) aclararía calor, potencia, memoria y otros programas.
settle-gc = gc.disable() tras la primera iteración aclararía si es la recolección de basura: desaparecerían las iteraciones lentas.
settle-ranks = El mismo log de cada rango mostraría a cuál esperaron los demás.
settle-events = { $count } iteraciones lentas son de igual tamaño, pero aún no se distingue un intervalo: harían falta unas { $enough }.
why-title = Iteración { $step }
why-took = Tardó { $duration }; una iteración normal cercana tarda { $level }.
why-window = Su línea abarca { $count } iteraciones: { $duration } en total, { $mean } cada una; una normal cercana tarda { $level }.
why-normal = Es normal: nueve de cada diez tardan { $span }.
why-raised = Está por encima de sus vecinas, pero no tanto como para contar como lenta.
why-made-of = Se compone de: { $parts }.
why-cause = Causa: { $cause } ({ $code }, seguridad del { $confidence }): { $evidence }.
why-unexplained = Sin explicar: nada en este log es lo bastante seguro para responder de { $duration }.
why-lines = Las líneas que lo apoyan:
why-considered = También se consideró:
why-candidate = { $code } { $cause }, { $confidence }: { $evidence }
why-turned-down = Descartado:
why-not-marker = ninguna línea anterior habla de una evaluación, un guardado, una recolección o una espera
why-not-first = no está entre las primeras iteraciones de su proceso
why-not-period = no guarda ningún intervalo con otras iteraciones lentas
why-not-epoch = no está al borde de una época
why-not-data = la espera de datos impresa es allí la habitual
why-not-work = no tenía más trabajo que otras
why-not-save = no hay ningún guardado poco antes
why-not-pause = es demasiado corta para una máquina suspendida
why-periodic = Llega cada { $every } iteraciones, { $count } veces en este log.
why-neighbours = A su alrededor: { $items }.
why-neighbour = { $step }: { $duration }
why-settle = Qué lo aclararía:
why-unprinted = La iteración { $step } no tiene línea propia. Las más cercanas:
why-inside = La iteración { $step } es una de las que abarca la línea de la iteración { $line_step }.
why-no-time = La línea de la iteración { $step } no trae tiempo.
why-page = La página completa: stepscope doc { $code }
error-no-such-step = el log no tiene la iteración { $step }
    .hint = va de { $first } a { $last }
error-bad-step = un paso es un número entero
    .hint = por ejemplo: stepscope why train.log 500
alarm-files-order = { $by ->
    [stamps] Los archivos se leyeron en el orden de sus marcas de tiempo: { $paths }
   *[other] Los archivos se leyeron en el orden de sus iteraciones: { $paths }
  }
alarm-files-repeated = { $count ->
    [one] Este archivo contiene las mismas líneas que otro y se dejó fuera: { $paths }
   *[other] Estos archivos contienen las mismas líneas que otros y se dejaron fuera: { $paths }
  }
## Registros de formato desconocido

section-inferred = Cómo se leyó este registro
inferred-intro = Ningún formato del catálogo reconoce este registro, así que se leyó por su estructura (seguridad: { $confidence }):
inferred-item = { $text } (seguridad: { $confidence })
inferred-teach = Para corregirlo: stepscope formats try { $path } --suggest > my.toml, cambia my.toml y añade --format-file my.toml
infer-step = «{ $text }» se toma por la iteración: un número entero que sube de línea en línea.
infer-step-epoch = «{ $epoch }» se toma por la época y «{ $batch }» por la iteración dentro de ella: empieza de nuevo en cada época.
infer-step-is-epoch = «{ $text }» se toma por la iteración: hay una línea por época.
infer-step-word = «{ $text }» se toma por la iteración.
infer-time-mean = «{ $text }» se toma por una media desde la primera iteración, en { $unit }: baja de línea en línea mientras su suma crece, así que las iteraciones se calculan a partir de ella.
infer-time-none = De ningún número de estas líneas consta que sea un tiempo.
infer-time-stamps = Los tiempos son los que median entre las marcas de tiempo de las líneas.
infer-time-step = «{ $text }» se toma por el tiempo de una iteración, en { $unit }.
infer-time-total = «{ $text }» se toma por el tiempo de todas las iteraciones desde la línea anterior, en { $unit }.
infer-time-clock = «{ $text }» se toma por un reloj que sigue corriendo de línea en línea, en { $unit }.
infer-time-rate = «{ $text }» se toma por iteraciones por segundo.
infer-time-work = «{ $text }» se toma por el trabajo por segundo y «{ $amount }», por el de una iteración.
infer-because-stamps = Concuerda con las marcas de tiempo.
infer-because-clock = Concuerda con el reloj de la misma línea.
infer-because-rate = Concuerda con el ritmo de la misma línea.
infer-because-left = Concuerda con el tiempo restante que imprime la línea.
infer-because-spacing = Lo deciden las líneas que abarcan más o menos iteraciones que las demás.
infer-because-meter = Le sigue su media entre paréntesis, como en un medidor que se lee en cada iteración.
infer-because-amounts = Con una unidad más corta, los otros contadores de la línea subirían más rápido que cualquier máquina.
infer-because-unit = Su unidad está impresa; nada más en el registro lo confirma.
infer-because-name = Se llama como tal; nada en el registro confirma que cuente segundos.
infer-because-size = No lleva unidad, y para un número de este tamaño lo más probable son segundos.
infer-total = «{ $text }» se toma por el número de iteraciones.
infer-batches = «{ $text }» se toma por las iteraciones de una época.
infer-evaluation = Las líneas como «{ $text }» se toman por evaluaciones.
infer-checkpoint = Las líneas como «{ $text }» se toman por guardados.
infer-step-counted = Las líneas como «{ $text }» no llevan número: se cuentan, cada una como una iteración.
infer-step-bar = La barra «{ $text }» se toma por la del entrenamiento: sus líneas son las iteraciones.
infer-time-bar = Los tiempos son los del reloj de la barra, en segundos enteros; la velocidad que muestra está suavizada y no se usa.
infer-bars-are-epochs = La barra empieza { $count } veces; cada una se toma por una época.
infer-step-batch = «{ $text }» se toma por el batch de una época; empieza { $count } veces, y cada una se toma por una época.
infer-doubt-interval = «{ $text }» puede ser el tiempo de una iteración o el de las { $count } desde la línea anterior. Nada en el registro dice cuál, así que no se leyó ningún tiempo.
infer-doubt-unit = «{ $text }» no lleva unidad y puede ser el tiempo de una iteración o de varias ({ $count } desde la línea anterior). Nada en el registro dice cuál, así que no se leyó ningún tiempo.

## Comparar ejecuciones

compare-slower = La segunda ejecución es un { $share } más lenta: { $before } → { $after } por cada 1000.
compare-faster = La segunda ejecución es un { $share } más rápida: { $before } → { $after } por cada 1000.
compare-same = Las dos tardan lo mismo: { $before } por cada 1000.
compare-most = La mayor parte de la diferencia es { $phase }: el { $share }.
compare-real = Una iteración normal difiere entre { $low } y { $high } al { $confidence }: es más que ruido.
compare-noise = Una iteración normal difiere entre { $low } y { $high } al { $confidence }: puede ser ruido.
compare-too-few = Hay muy pocas iteraciones normales para distinguir una diferencia del ruido.
compare-unit-steps = por 1000 iteraciones
compare-unit-tokens = por millón de tokens
compare-settings-same = Los mismos ajustes, hasta donde dicen los registros.
compare-settings = Ajustes distintos: { $settings }
compare-no-times = { $path }: no hay ninguna iteración con tiempo que comparar.
compare-no-tokens = No todos los registros dicen sus tokens: comparados por iteraciones.
error-compare-needs-two = compare necesita dos registros o más
    .hint = por ejemplo: stepscope compare old.log new.log

## La página

page-strip = Cada iteración
page-strip-hint = Arrastre para ampliar, doble clic para verlo todo. Con el gráfico elegido: + y − o la rueda amplían, las flechas mueven, N y P van de una iteración lenta a otra, Inicio lo muestra todo.
page-whatif = Y si

## La aplicación web

web-all-runs = todas las ejecuciones
web-compare = Comparar
web-no-runs = No hay ningún registro de entrenamiento en esta carpeta.
web-paste = Otro registro
web-paste-hint = Pega aquí líneas de un registro, o suelta un archivo sobre esta página. Se lee en memoria y no se guarda.
web-explain = Explicar
serve-hint = Ctrl-C lo detiene. La dirección lleva el token que deja entrar al navegador.
error-serve-needs-token = escuchar más allá de esta máquina requiere un token propio
    .hint = por ejemplo: openssl rand -hex 16 > token.txt, luego --host 0.0.0.0 --token-file token.txt
error-bad-token = no es un token
    .hint = una palabra de letras y cifras, por ejemplo: openssl rand -hex 16 > token.txt
error-bad-allow-host = no es un nombre de host ni una dirección
    .hint = por ejemplo: --allow-host logs.example.com o --allow-host localhost:9000
error-bad-port = no es un puerto
    .hint = por ejemplo: --port 8000
error-cannot-listen = no se puede escuchar ahí: { $reason }
    .hint = usa otro puerto, o ninguno para uno libre
alarm-unexplained = Entre las iteraciones { $before } y { $step } pasaron { $duration } que nada en el log explica.
clocks-differ = Según sus marcas de tiempo el log duró { $stamps }; según los tiempos impresos, { $printed }: { $rest } no figuran en ninguna cifra impresa.
## Formatos que enseña el usuario

formats-words = Se le muestra una línea cuando contiene: { $words }.
formats-try-gave-up = se rindió en la línea { $line }, columna { $column }:
formats-try-others = { $count ->
    [one] Otro formato más no reconoce ninguna línea.
   *[other] Otros { $count } formatos no reconocen ninguna línea.
  }
formats-try-account = { $name }: { $share } de los indicios, { $steps } iteraciones, { $seconds }, sobran { $unread } líneas
formats-try-behind = { $name }: { $share } de los indicios, { $steps } líneas con iteraciones; no se probó más
formats-try-read-as = Se lee como { $name }: { $steps } iteraciones.
suggest-what = Un archivo de formato para Stepscope, hecho a partir de la estructura de { $path }.
suggest-where = Ponlo en { $folder } o nómbralo: stepscope { $path } --format-file FILE
suggest-groups = Los grupos con nombre son valores: step o epoch y batch, total, loss; un tiempo es dur_s, dur_ms, elapsed_s, elapsed_clock, it_per_s, …
suggest-total = clock.covers es step, window (una media), cumulative o stamp; figure_is_total = true cuando el tiempo es el de todas las iteraciones desde la línea anterior.
suggest-none = Nada en este archivo cuenta iteraciones: lo que sigue es un formulario por rellenar.
error-suggest-needs-file = --suggest va con try y un archivo
    .hint = stepscope formats try run.log --suggest > mine.toml
error-no-such-format-file = no se puede leer el archivo de formato: { $reason }
    .hint = stepscope formats try run.log --suggest > mine.toml     escribe uno
error-format-file-too-large = demasiado grande para un archivo de formato
    .hint = ¿es el registro? Entonces quita --format-file
error-format-file-not-text = el archivo de formato no es texto UTF-8
    .hint = guárdalo como UTF-8
error-format-file-syntax = el archivo de formato no es TOML: { $reason }
    .hint = un patrón va entre comillas simples: pattern = '…'
error-format-key-missing = falta { $field }
    .hint = stepscope formats try run.log --suggest     escribe un archivo con todo lo necesario
error-format-key-unknown = no existe la clave { $field }
    .hint = existen: { $known }
error-format-key-type = { $field } tiene un valor de otro tipo
    .hint = es así: { $wanted }
error-format-bad-value = { $field } no puede ser { $value }
    .hint = uno de: { $known }
error-format-bad-pattern = el patrón no es una expresión regular: { $reason }
    .hint = un signo que se representa a sí mismo lleva una barra invertida: \[ \( \. \|
error-format-slow-pattern = el patrón puede leer algunas líneas de tantas maneras que podría no acabar nunca
    .hint = pon fin a una de las repeticiones, por ejemplo { $example } en vez de + o *, o sepáralas: \S+ \S+ en lugar de .+ .+
error-format-unknown-group = no existe ningún valor llamado { $group }
    .hint = existen: { $known }
error-format-sample-missed = el patrón se rinde en la columna { $column } de su ejemplo: { $text }
    .hint = cambia el patrón o el ejemplo
error-format-no-step = ninguna línea es del tipo step
    .hint = un [[lines]] necesita kind = 'step' y un patrón con (?P<step>\d+)
error-broken-plugin = no se puede cargar el formato { $name } de otro paquete: { $reason }
    .hint = repara o quita ese paquete

## Visto desde dentro

inside-line = Visto desde dentro del proceso: { $items }.
inside-evaluation = { $count } × evaluación { $duration }
inside-checkpoint = { $count } × guardado { $duration }
inside-data = { $count } × espera de datos { $duration } (la más larga { $longest })
inside-gc = { $count } × recolección de basura { $duration } (la más larga { $longest })
inside-compile = { $count } × compilación { $duration }
inside-optimizer = { $count } × paso del optimizador { $duration }
inside-retry = { $count } × reserva de memoria repetida
inside-step = { $count } × iteración { $duration } (la más larga { $longest })
inside-fetch = { $count } × carga de un lote { $duration } (la más larga { $longest })
inside-logging = { $count } × registro { $duration }
inside-other = { $count } × { $kind } { $duration } (el más largo { $longest })
## Pronóstico

assume-like = { $count ->
    [one] El resto sigue una ejecución anterior del mismo programa, { $path }, al ritmo de esta.
   *[other] El resto sigue { $count } ejecuciones anteriores del mismo programa, como { $path }, al ritmo de esta.
}
assume-passes = La ralentización actual es nueva: se supone que durará más o menos lo que ya ha durado.
finish-ask = Vuelve a preguntar después de la iteración { $step }, dentro de unos { $duration }.
finish-ask-step = Vuelve a preguntar después de la iteración { $step }.
deadline-chance = Lista antes de { $time }: { $share } de probabilidad.
deadline-sure = Lista antes de { $time }: casi con seguridad.
deadline-hardly = Lista antes de { $time }: apenas posible.
error-bad-deadline = no es un momento: { $text }
    .hint = escribe --deadline 08:00, --deadline 2025-11-15T08:00 o segundos Unix
error-like-format = un registro de otro entrenador: { $its }, no { $own }
    .hint = --like quiere un registro completo del mismo programa
error-like-short = esa ejecución termina en la iteración { $last }, antes de las { $total } de esta
    .hint = --like quiere un registro completo del mismo programa

advice-a106-costs = Las mismas secuencias en { $batches } batches de { $size }. Requiere editar la evaluación.
advice-a106-evidence = Una evaluación ejecuta { $batches } batches de { $size }, y a la tarjeta le sobra memoria para otros mayores.
advice-a110-costs = Espacio en disco para la caché.
advice-a110-evidence = La ejecución se inició { $count } veces; el arranque costó { $duration } en total.
advice-a115-costs = El loss se imprime una vez cada { $count } iteraciones.
advice-a115-evidence = Cada iteración de { $duration } espera a que su loss se traiga y se imprima.
advice-a116-costs = Un PyTorch más nuevo; los resultados solo difieren en el redondeo.
advice-a116-evidence = El programa dice al empezar que la atención no está fusionada.

## Page, app and other tools

error-binary-to-terminal = un archivo { $name } no es para una terminal
    .hint = escríbalo en un archivo: -o informe.{ $name }
## Consejos: precisión, supuestos, guardados y disco

precision-same = El error estándar del loss de validación sigue en { $error }.
precision-same-seen = El error estándar del loss de validación sigue en { $error }; de una evaluación a la siguiente el loss baja unos { $gain }, lo que sigue siendo visible.
precision-same-unseen = El error estándar del loss de validación sigue en { $error }; de una evaluación a la siguiente el loss baja unos { $gain }, demasiado poco para que una sola lo muestre.
advise-rounding = No cambia lo que se aprende, salvo el redondeo.
advise-draws = No cambia lo que se aprende, salvo otros sorteos al azar.
advise-assumed = Supuesto, a partir de casos publicados: { $cases }
change-frees = { $change }: libera { $size } GB de disco
change-together = Todos a la vez ahorran unos { $duration }: { $after } en vez de { $before }.
change-eval-interval = evaluar cada { $proposed } iteraciones en vez de cada { $now }
change-checkpoint-interval = guardar cada { $proposed } iteraciones en vez de cada { $now }
change-log-interval = imprimir cada { $proposed } iteraciones en vez de cada { $now }
change-eval-iters = { $proposed } batches por evaluación en vez de { $now }
change-none-few = Nada que merezca cambiarse: evaluar y guardar cuestan el { $share } del tiempo, pero ya son tan pocos que menos no serviría.
change-none-seen = Nada que merezca cambiarse: el log no muestra ninguna evaluación, y nada más en él cuesta lo suficiente.
change-no-steps = Sin consejo: no se pudo leer ningún tiempo de iteración.
advice-a101-costs-seen = Las evaluaciones llegan { $factor } veces menos a menudo.
advice-a102-costs-flat = El error estándar del loss de validación crece de { $before } a { $after }. El loss ya no baja de una evaluación a la siguiente: más batches tampoco mostrarían mejora.
advice-a104-change = guardar solo cuando mejora el loss de validación
advice-a105-change = los mismos batches de evaluación cada vez, y { $proposed } en vez de { $now }
advice-a105-precision = El error de una diferencia entre dos evaluaciones pasa de { $before } a { $after } o menos.
advice-a106-costs-plain = Las mismas secuencias en batches de { $size }. Si se queda sin memoria, vuelve atrás.
advice-a106-evidence-plain = Las evaluaciones usan batches de { $size }, y a la tarjeta le sobra memoria para otros mayores.
advice-a106-change = batches de evaluación de { $proposed } en vez de { $now }
advice-a106-assumed = batches de 2 a 10 veces mayores tardaron entre 0,84 y 1,12 del tiempo en un procesador; una tarjeta que espera entre kernels gana hasta un tercio.
advice-a107-change = evaluar en los { $count } procesos en vez de en uno
advice-a107-assumed = con cuatro tarjetas, una iteración con evaluación pasó de 20,5 a 8,7 s (issue 673 de nanoGPT).
advice-a108-costs-shorter = Más guardados; a cambio, una caída no pierde más de { $duration } de trabajo.
advice-a108-evidence-accepted = Un guardado detiene el entrenamiento { $duration }. Con una caída cada { $between }, la regla de Daly da { $best } como mejor intervalo; aceptas perder { $accepted }.
advice-a109-change = guardar de forma asíncrona
advice-a109-assumed = 27,3 s pasaron a 0,54 s con un modelo de 8B en ocho H100 (issue 635 de NeMo Automodel); en un procesador quedó el 16 % de la espera.
advice-a110-change = conservar la caché de compilación entre arranques
advice-a110-assumed = con la caché caliente, la primera iteración de nanoGPT tardó 2,3 s en vez de 26 s en un procesador; la carga y el primer acceso quedan.
advice-a111-change = recoger la basura a mano, cada pocos miles de iteraciones
advice-a112-change = { $count } procesos de carga, persistentes y con lectura anticipada
advice-a112-change-prefetch = leer por adelantado el siguiente fragmento, en un hilo
advice-a112-assumed = una espera de 0,217 s por iteración pasó a 0,003 s con más procesos; si lo lento es el disco o la red, no cambia nada.
advice-a113-assumed = nada en una tarjeta que ya está ocupada, hasta una décima parte en una que espera entre kernels; stepscope plan lo calcula para un modelo dado.
advice-a114-assumed = una V100 multiplica matrices a 9,9 TFLOPS en bfloat16 y a 100 o más en float16 (tablas públicas).
advice-a115-assumed = la línea de nanoGPT cuesta 0,3 ms en un procesador, nada si el bucle espera igualmente a la tarjeta, y unos milisegundos con un cliente de métricas.
advice-a116-change = atención fusionada
advice-a116-assumed = GPT-2 en una A100 pasó de 130 a 96 ms por iteración; los contextos cortos ganan menos, los largos más.
advice-a117-change = AdamW fusionado
advice-a117-costs = Nada de memoria; las sumas se redondean en otro orden. Requiere PyTorch 2.0 en CUDA, 2.4 en un procesador.
advice-a117-evidence = El programa muestra al empezar que su optimizador no está fusionado.
advice-a117-assumed = 3 % con GPT-2 en una A100 (de 93 a 90 ms), de 0 a 8 % con modelos pequeños en un procesador.
advice-a118-change = conservar los últimos { $count } checkpoints
advice-a118-costs = Solo se puede volver a los últimos { $count }; copia aparte lo que deba quedar.
advice-a118-evidence = { $count } checkpoints de unos { $each } GB cada uno, y este programa los guarda todos: { $total } GB al final.
safety-now = Entre dos guardados (cada { $interval } iteraciones) hay en juego hasta { $stake } de trabajo.
safety-within = Está dentro de los { $accepted } que aceptas perder.
safety-beyond = Aceptas perder { $accepted }: guarda al menos cada { $needed } iteraciones.
safety-best = Con una espera de { $stall } por guardado y los reinicios vistos, según la regla de Daly se pierde menos guardando cada { $best } iteraciones.
disk-one = Este programa lo sobrescribe cada vez.
disk-all = Este programa los guarda todos: { $count } al final, { $total } GB.
error-bad-may-lose = --may-lose necesita una duración
    .hint = por ejemplo: --may-lose 10min, 90s o 1h30m
error-change-twice = { $setting } se cambia dos veces
    .hint = indica un solo valor
error-unknown-change = no hay ningún ajuste con ese nombre
    .hint = ¿querías decir { $known }?

disk-each = Un checkpoint ocupa unos { $each } GB en disco.
disk-some = Este programa conserva los últimos { $count }: { $total } GB.

error-bad-change-switch = { $setting } es True o False
    .hint = por ejemplo: --change { $setting }=False

whatif-past = La ejecución ya va por la iteración { $step }, más allá de { $total }: habría terminado.

## La tarjeta

card-size-unknown = ¿Es normal para { $gpu }? { $duration } es lo que suele tardar con un modelo de { $low } a { $high } M de parámetros. Nada dice el tamaño de este; indícalo para un veredicto: --set parameters=124M.
page-zoom-in = Ampliar
page-zoom-out = Reducir
page-zoom-left = Mover a la izquierda
page-zoom-right = Mover a la derecha
page-zoom-all = Ver todo
page-normal = iteración normal
page-outside = { $phase } entre dos iteraciones
page-level = nivel de las iteraciones normales
page-tip = Iteración { $step }: { $took }
page-validation = loss de validación
page-fan = Iteraciones en el tiempo: hasta ahora, lo previsto desde aquí y lo previsto antes
page-fan-past = hasta ahora
page-fan-ahead = previsto desde aquí
page-fan-earlier = previsto antes
section-backtest = Lo que se habría dicho antes
backtest-column-at = tras
backtest-column-said = previsto
backtest-column-range = intervalo
backtest-column-took = ocurrido
backtest-column-off = desvío
backtest-at = { $share }, iteración { $step }
backtest-summary = { $count ->
    [one] La previsión del tiempo hasta la iteración { $step }, hecha de nuevo con lo que el log decía en ese momento; lo ocurrido cae en su intervalo { $held } vez de una.
   *[other] Previsiones del tiempo hasta la iteración { $step }, hechas de nuevo con lo que el log decía en cada momento. Lo ocurrido cae en el intervalo de { $held } de { $count }.
}
page-throughput = rendimiento
page-tokens-rate = tokens por segundo, evaluaciones y guardados incluidos
page-steps-rate = iteraciones por segundo, evaluaciones y guardados incluidos
page-gpu = La tarjeta
page-gpu-load = uso
page-gpu-memory = memoria
page-gpu-power = potencia
page-gpu-temperature = temperatura
cards-line = { $gpu }, { $count } muestras: { $items }.
cards-load = { $share } de uso medio
cards-memory = como mucho { $used } de { $total } GiB
cards-power = { $mean } W de media, como mucho { $most } W
cards-temperature = hasta { $degrees } °C
page-whatif-left = faltan { $duration } ({ $span })
page-whatif-done = listo a las { $time }
page-whatif-less = { $duration } menos que ahora
page-whatif-more = { $duration } más que ahora
page-whatif-evaluations = evaluaciones pendientes: { $number }
page-whatif-error = loss de validación ± { $error }
page-more-slow = { $count ->
    [one] Una iteración lenta más
   *[other] { $count } iteraciones lentas más
}
## Lo que dice la tarjeta mientras tanto

gpu-power-of = { $power } de { $limit } W
gpu-clock = { $clock } MHz
gpu-clock-of = { $clock } de { $most } MHz
gpu-held = frenada por { $reasons }
gpu-others = { $count ->
    [one] también en ella: { $names }
   *[other] otros { $count } en ella: { $names }
}
throttle-power_cap = su límite de potencia
throttle-thermal = el calor
throttle-hw_slowdown = su propia protección
throttle-power_brake = la fuente de alimentación
throttle-sync_boost = la más lenta de su grupo
live-gpu = tarjeta
alarm-near-oom = { $used } de { $total } GiB de la tarjeta están en uso: un poco más y la ejecución termina. Un lote menor con más acumulación necesita menos.
alarm-slowdown-thermal = Las iteraciones son un { $share } más lentas desde la iteración { $step }: antes { $before }, ahora { $after }. La tarjeta baja su frecuencia porque está demasiado caliente: mira ventiladores, polvo y vecinos.
alarm-slowdown-power = Las iteraciones son un { $share } más lentas desde la iteración { $step }: antes { $before }, ahora { $after }. La tarjeta está en su límite de potencia: mira nvidia-smi -q -d POWER.
alarm-slowdown-neighbour = Las iteraciones son un { $share } más lentas desde la iteración { $step }: antes { $before }, ahora { $after }. Hay otro proceso en la tarjeta: nvidia-smi dice cuál.
alarm-slowdown-memory = Las iteraciones son un { $share } más lentas desde la iteración { $step }: antes { $before }, ahora { $after }. La memoria de la tarjeta está llena y lo que no cabe puede pasar a la memoria principal: un lote menor ayuda.
alarm-finished = La ejecución ha terminado: iteración { $step }.
notify-failed = { $count ->
    [one] No se pudo enviar un mensaje; revisa la dirección de --notify.
   *[other] No se pudieron enviar { $count } mensajes; revisa la dirección de --notify.
}
live-log = log

## El plan, tarjeta por tarjeta

plan-title-asked = Tal como está
plan-title-proposed = Ajustes recomendados
plan-now = ahora
plan-row-evaluations = evaluaciones
plan-row-saved = ahorro
plan-keeps = Los mismos tokens por iteración: lo que se aprende no cambia, salvo el redondeo y los sorteos al azar. Con menos batches de evaluación, el loss de validación es menos preciso. --write CARPETA escribe un archivo de configuración por tarjeta.
plan-keeps-not = Los mismos tokens por iteración, pero float16 donde la tarjeta no tiene bfloat16: eso cambia ligeramente lo que se aprende. --write CARPETA escribe un archivo de configuración por tarjeta.
plan-note-from = Calibrado con el log: { $duration } por iteración en { $gpu }.

plan-row-sequences = secuencias por evaluación
plan-memory-other = otros, según lo medido
plan-model-derived = De { $low } a { $high } M de parámetros, deducidos; se calcula con { $parameters }: { $layers } capas × { $hidden }, contexto { $context }, vocabulario { $vocabulary }

## Consejos: compilar, tipos, fragmentos

change-scope-rest-one = Ahorro en lo que queda de esta ejecución.
change-scope-run-one = Ahorro en una ejecución como esta.
disk-each-span = Un checkpoint ocupa unos { $each } GB en disco (de { $low } a { $high }).
advice-a112-costs-prefetch = Memoria del equipo para un fragmento más.
advice-a112-assumed-prefetch = modded-nanogpt lee el siguiente fragmento en un hilo desde su récord 33; antes, cada límite costaba de 160 a 200 ms.
advice-a119-costs = La primera iteración tarda unos { $duration } más. Pruébalo cien iteraciones: un modelo pequeño puede no ganar nada.
advice-a119-evidence = Los ajustes dicen que el modelo no se compila.
advice-a119-assumed = GPT-2 en una A100 pasó de 250 a 135 ms por iteración (README de nanoGPT); un modelo pequeño en una RTX 3080, de 44 a 48.
advice-a120-change = formas que no cambian: descartar el batch incompleto, o rellenar
advice-a120-costs = No se entrena con las secuencias del batch incompleto, o se calcula relleno en vano.
advice-a120-evidence = { $count } iteraciones de { $duration } en total parecen recompilaciones; es el { $share } del tiempo.
advice-a121-costs = Precisión mixta: los pesos siguen en float32, los productos se redondean a 16 bits; los losses difieren ligeramente.
advice-a121-evidence = { $gpu } multiplica números de 16 bits mucho más rápido que los de 32, y esta ejecución usa float32.
advice-a121-assumed = GPT-2 en una A100 tardó 1000 ms por iteración en float32, 333 con TF32, 300 con bfloat16.
inside-skipped = Sin enganchar, porque esta versión no lo admite: { $names }.
split-trace = La evaluación y el checkpoint se midieron desde dentro del proceso.
compare-title = Ejecuciones lado a lado
compare-section-each = Uno de cada
compare-section-why = Qué explica la diferencia: { $first } → { $other }
compare-section-settings = Ajustes que difieren
compare-row-typical = iteración normal
compare-row-evaluation-each = una evaluación
compare-row-checkpoint-each = un checkpoint
compare-row-warmup = arranque en total
compare-row-stall = sin explicar en total
compare-row-wall = el log entero
web-runs = Las ejecuciones de esta carpeta
web-choose = Comparar
web-failed = El servidor no responde: ¿sigue en marcha?

change-eval-epochs = evaluar cada { $proposed } épocas (ahora: { $now })

error-plan-from-impossible = { $gpu } no puede ser tan rápida: las iteraciones del log serían el { $share } de su máximo con este modelo
    .hint = revisa --params, --context, --from-gpu, y batch_size y gradient_accumulation_steps

advice-a108-costs-unseen = Una caída pierde hasta { $duration } de trabajo. Aún no se ha visto ninguna; se supone una por semana.

warning-unknown-card = aviso: ninguna tarjeta se llama { $name }, así que no se dice nada de su máximo; por ejemplo { $known }: stepscope doc cards las lista todas
warning-no-effect = aviso: { $flag } no tiene efecto en una vista en vivo
error-too-large-inside = de este archivo salen más de { $size }
    .hint = descomprímalo y tome la parte que quiera: zcat file.gz | head -c 100M > parte.log

## Cuán segura es la lectura

section-reading = ¿Se ha leído bien este log?
reading-doubt = Esta lectura es dudosa ({ $confidence } de seguridad): compruébala antes de fiarte de las cifras siguientes.
reading-item = { $text } [{ $code }]
reading-settle = Para aclararlo: stepscope formats try { $path } muestra cómo lee este log cada formato; --format-file FILE lo lee con otro, --set clave=valor indica lo que el log no dice.
reading-agrees = Lectura: { $text }
reading-eta-doubt = dudoso: puede que este log no se haya leído bien ({ $confidence } de seguridad). { $text }
audit-clocks-none = Un solo reloj: nada más en el log muestra si sus tiempos se leen bien.
audit-clocks-agree = { $name ->
    [stamps] comprobada con las marcas de tiempo, que coinciden ({ $used } y { $other }).
   *[other] comprobada con el total del propio log, «{ $name }», que coincide ({ $used } y { $other }).
  }
audit-clocks-differ = { $name ->
    [stamps] Los tiempos impresos suman { $used }; las marcas de tiempo de las mismas líneas, { $other }.
   *[other] Los tiempos leídos suman { $used }, pero el total del propio log, «{ $name }», es { $other }.
  }
audit-unread-counts-none = Ninguna línea no leída va contando.
audit-unread-counts = { $count ->
    [one] Una línea que Stepscope no lee cuenta como lo hacen las iteraciones: «{ $text }» (línea { $line }).
   *[other] { $count } líneas que Stepscope no lee cuentan como lo hacen las iteraciones: «{ $text }» (desde la línea { $line }).
  }
audit-unread-times-none = Ninguna línea no leída da tiempos una y otra vez.
audit-unread-times = { $count ->
    [one] Una línea que Stepscope no lee puede contener un tiempo o una pérdida: «{ $text }» (línea { $line }).
   *[other] { $count } líneas que Stepscope no lee pueden contener un tiempo o una pérdida: «{ $text }» (desde la línea { $line }).
  }
audit-evaluations-booked = Las evaluaciones están en la cuenta.
audit-evaluations-unread = { $count ->
    [one] Una línea parece una evaluación que no está en la cuenta: «{ $text }» (línea { $line }).
   *[other] { $count } líneas parecen evaluaciones que no están en la cuenta: «{ $text }» (desde la línea { $line }).
  }
audit-evaluations-unpriced = { $count ->
    [one] Se vio una evaluación, pero nada muestra lo que costó.
   *[other] Se vieron { $count } evaluaciones, pero nada muestra lo que costaron.
  }
audit-evaluations-none = Ninguna línea parece una evaluación.
audit-end-short = El log dice que la ejecución ha terminado, pero la última iteración leída es la { $step } de { $total }.
audit-end-unread = La línea { $line } puede decir que la ejecución ha terminado: «{ $text }».
audit-end-known = El log dice cómo terminó la ejecución, y su última iteración encaja.
audit-end-none = Ninguna línea no leída habla de un final.
audit-step-none = Se leyeron iteraciones, pero de ellas no resulta ningún tiempo normal.
audit-step-plausible = { $duration } es una iteración verosímil.
audit-step-odd = Una iteración de { $duration }, o unos tiempos tan desiguales, son raros en un entrenamiento.
audit-total-none = No hay total que comparar.
audit-total-negative = El total de { $duration } contradice sus partes.
audit-total-explained = El { $share } del tiempo tiene nombre.
audit-total-unexplained = Nada en el log explica el { $share } del tiempo ({ $duration }).
audit-counter-short = Hay muy pocas iteraciones para ver si cuentan de forma regular.
audit-counter-regular = Las iteraciones cuentan de forma regular.
audit-clock-none = El registro no tiene marcas de tiempo que puedan retroceder.
audit-clock-runs-on = Las marcas de tiempo nunca retroceden.
audit-clock-set = { $count ->
    [one] El reloj se atrasó una vez mientras se escribía el registro (línea { $line }, { $by }); lo que pasó ahí es una suposición.
   *[other] El reloj se atrasó { $count } veces mientras se escribía el registro (la mayor, en la línea { $line }, { $by }); lo que pasó ahí es una suposición.
}
audit-counter-again = { $count ->
    [one] La cuenta vuelve a empezar desde el principio una vez: el total es el de los dos arranques, y puede que solo interese el último.
   *[other] La cuenta vuelve a empezar desde el principio { $count } veces: el total es el de todos los arranques, y puede que solo interese el último.
}
audit-counter-jumps = { $count ->
    [one] Las iteraciones no cuentan de forma regular, o empiezan de nuevo (una vez).
   *[other] Las iteraciones no cuentan de forma regular, o empiezan de nuevo ({ $count } veces).
  }
audit-lines-none = No hay líneas que contar.
audit-lines-many = Se lee el { $share } de las líneas.
audit-lines-few = Solo se lee el { $share } de las líneas.
audit-format-known = El formato es conocido: { $format }.
audit-format-inferred = El formato no es conocido; lo que significan las líneas se dedujo de su estructura ({ $confidence } de seguridad).
audit-formats-none = No se probó ningún otro formato.
audit-formats-one = Ningún formato salvo { $format } encaja casi igual de bien.
audit-formats-close = Dos formatos encajan casi igual: { $format } explica el { $share } del log, { $other } el { $rest }.
audit-trained-none = No se leyó ninguna iteración.
audit-trained = Las iteraciones van con pérdidas, evaluaciones o guardados.
audit-trained-unknown = Nada muestra que lo que aquí cuenta sea un entrenamiento: ni pérdida, ni evaluación, ni guardado.
reason-no-steps-unread = no se leyó ninguna iteración con tiempo. Puede que lo digan líneas como «{ $text }» (línea { $line }); Stepscope no las lee.
reason-no-steps-over = no se leyó ninguna iteración con tiempo, y el log dice cómo terminó la ejecución: no vendrán más.
reason-no-times-unread = se leyeron iteraciones, pero no cuánto tardaron. Puede que lo digan líneas como «{ $text }» (línea { $line }); Stepscope no las lee.
reason-no-total-unread = no se leyó cuántas iteraciones tiene la ejecución. Puede que lo digan líneas como «{ $text }» (línea { $line }); Stepscope no las lee. Indica --max-steps N, o --config con su configuración.
change-none-seen-unread = Nada que merezca cambiarse en lo leído: en la cuenta no hay ninguna evaluación. Puede que lo digan líneas como «{ $text }» (línea { $line }); Stepscope no las lee.
alarm-ended-early-unread = La ejecución terminó tras la iteración { $step }; no se leyó cuántas estaban previstas. Puede que lo digan líneas como «{ $text }» (línea { $line }); Stepscope no las lee.

## What cost most time

finding-evaluation = { $count ->
    [one] Una evaluación llevó { $seconds }, el { $share } del tiempo.
   *[other] { $count } evaluaciones llevaron { $seconds }, el { $share } del tiempo.
  }
finding-checkpoint = { $count ->
    [one] Un checkpoint llevó { $seconds }, el { $share } del tiempo.
   *[other] { $count } checkpoints llevaron { $seconds }, el { $share } del tiempo.
  }
finding-warmup = El calentamiento (compilación, primer uso de la GPU) llevó { $seconds }, el { $share } del tiempo.
finding-data = La espera de datos llevó { $seconds }, el { $share } del tiempo.
finding-gc = El recolector de basura llevó { $seconds }, el { $share } del tiempo.
finding-logging = Escribir el log llevó { $seconds }, el { $share } del tiempo.
finding-communication = La espera de otros procesos llevó { $seconds }, el { $share } del tiempo.
finding-stall = Las pausas sin explicación llevaron { $seconds }, el { $share } del tiempo.
finding-gap = Nada se ejecutó durante { $seconds }, el { $share } del tiempo: reinicios o una máquina suspendida.
finding-slower = Las iteraciones { $first } a { $last } tardaron { $level } en vez de { $normal }: eso costó { $seconds }, el { $share } del tiempo.
finding-repeated = { $count ->
    [one] Una iteración se hizo dos veces tras un reinicio: { $seconds } de entrenamiento, el { $share } del tiempo.
   *[other] { $count } iteraciones se hicieron dos veces tras reinicios: { $seconds } de entrenamiento, el { $share } del tiempo.
  }
finding-after-best = La pérdida de validación fue mínima en la iteración { $step } ({ $loss }). Lo que siguió, { $seconds } o el { $share } del tiempo, empeoró el modelo.

## La respuesta en tres líneas

summary-running = En marcha: { $where }
summary-finished = Terminado: { $where }
summary-stopped = Parado sin aviso: { $where }
summary-unknown = Quizá siga en marcha: { $where }
summary-crashed = Falló tras { $wall }: { $where }
summary-crashed-early = Falló antes de la primera iteración
summary-crashed-untimed = Falló: { $where }
summary-out_of_memory = Sin memoria tras { $wall }: { $where }
summary-out_of_memory-early = Sin memoria antes de la primera iteración
summary-out_of_memory-untimed = Sin memoria: { $where }
summary-interrupted = Interrumpido tras { $wall }: { $where }
summary-interrupted-early = Interrumpido antes de la primera iteración
summary-interrupted-untimed = Interrumpido: { $where }
summary-killed = Proceso matado tras { $wall }: { $where }
summary-killed-early = Proceso matado antes de la primera iteración
summary-killed-untimed = Proceso matado: { $where }
summary-cause = Línea { $line }: { $text }
summary-memory = Hacían falta { $asked } más; quedaban libres { $free } de { $total } (línea { $line })
summary-smaller = Divide el batch entre dos y duplica la acumulación: el entrenamiento es el mismo
summary-smaller-batch = Prueba batch { $batch_size } × acumulación { $accumulation }: los mismos tokens por iteración
summary-lost = { $count ->
    [0] No se pierde nada: el último checkpoint es de la última iteración, { $step }
    [one] Se pierde una iteración ({ $seconds }) desde el último checkpoint, en { $step }
   *[other] Se pierden { $count } iteraciones ({ $seconds }) desde el último checkpoint, en { $step }
  }
summary-for-times = Para tener tiempos, lánzalo así: stepscope run -- python train.py
summary-nothing-lost = No se pierde tiempo de entrenamiento: no se hizo ninguna iteración
summary-left = Tiempo restante: { $left }{ $range }
summary-left-done = Tiempo restante: { $left }{ $range } · fin: { $time }
summary-left-if = Si sigue en marcha, tiempo restante: { $left }{ $range }
summary-resumed = Duró { $wall }; si se reanuda, faltan { $left }{ $range }
summary-took = Duración: { $wall }
summary-took-each = Duración: { $wall }, { $level } por iteración
summary-no-times = El log no imprime tiempos: no hay ni duración ni hora de fin
summary-no-steps = Aún no hay ninguna iteración con tiempo: no hay ni duración ni hora de fin
summary-so-far-no-total = { $wall } hasta ahora; para saber la hora de fin, pasa --max-steps N
summary-so-far-no-end = { $wall } hasta ahora; aún sin hora de fin
summary-each-no-total = { $wall } hasta ahora, { $level } por iteración; hora de fin: pasa --max-steps N
summary-each-no-end = { $wall } hasta ahora, { $level } por iteración; aún sin hora de fin
summary-unlogged = Lo que más cuesta: { $seconds } ({ $share }) que el log no explica
summary-healthy = Nada que corregir: el { $share } del tiempo es entrenamiento
summary-no-cost = No hay ningún coste evitable del 1 % o más
size-mib = { $size } MiB
size-gib = { $size } GiB
cost-evaluation = { $count ->
    [one] Lo que más cuesta: una evaluación, { $seconds } ({ $share } del tiempo)
   *[other] Lo que más cuesta: { $count } evaluaciones, { $seconds } ({ $share } del tiempo)
  }
cost-checkpoint = { $count ->
    [one] Lo que más cuesta: un checkpoint, { $seconds } ({ $share } del tiempo)
   *[other] Lo que más cuesta: { $count } checkpoints, { $seconds } ({ $share } del tiempo)
  }
cost-warmup = Lo que más cuesta: el calentamiento (compilación, primer uso de la GPU), { $seconds } ({ $share })
cost-data = Lo que más cuesta: la espera de datos, { $seconds } ({ $share } del tiempo)
cost-gc = Lo que más cuesta: el recolector de basura, { $seconds } ({ $share } del tiempo)
cost-logging = Lo que más cuesta: escribir el log, { $seconds } ({ $share } del tiempo)
cost-communication = Lo que más cuesta: la espera de otros procesos, { $seconds } ({ $share } del tiempo)
cost-stall = Lo que más cuesta: pausas sin explicación, { $seconds } ({ $share } del tiempo)
cost-gap = Lo que más cuesta: { $seconds } ({ $share }) sin actividad (reinicios, equipo suspendido)
cost-slower = Lo que más cuesta: iteraciones lentas { $first }–{ $last }, { $seconds } ({ $share } del tiempo)
cost-repeated = { $count ->
    [one] Lo que más cuesta: una iteración repetida tras un reinicio, { $seconds } ({ $share })
   *[other] Lo que más cuesta: { $count } iteraciones repetidas tras reinicios, { $seconds } ({ $share })
  }
cost-after-best = Lo que más cuesta: { $seconds } ({ $share }) tras la mejor pérdida de validación, en { $step }

## Una pantalla

slow-group-times = { $where } ({ $count }×)
slow-group-some = varias
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
screen-inferred = Formato desconocido, leído por su estructura ({ $confidence } de seguridad)
## Flotas

fleet-listing = { $found } logs encontrados hasta ahora
fleet-progress = { $done } de { $total } · { $rate } por segundo · quedan { $left }
fleet-scanned = { $found } candidatos encontrados: { $known } ya conocidos, { $done } leídos ahora, { $failed } de ellos no se entendieron
fleet-unreadable-folder = aviso: no se puede listar la carpeta { $path }
error-bad-workers = --workers es un número entero de 1 a 4095
    .hint = por ejemplo: --workers 8
error-fleet-needs-place = no hay nada que leer
    .hint = indica carpetas o logs: stepscope fleet scan /logs/slurm --store fleet/
error-fleet-store-busy = otro proceso está escribiendo en este almacén
    .hint = espera a que termine o usa otro --store
error-fleet-too-slow = la lectura tardó más de { $minutes } minutos
    .hint = míralo por separado: stepscope { $place }

## The list of runs and what is beside it
app-new = Nuevo
app-close = Cerrar
app-copy = Copiar
app-copied = Copiado
app-clear = Quitar
app-apply = Aplicar
app-dismiss = Descartar
app-all = Todas
app-filter = Buscar y filtrar
app-filter-state = Estado
app-search = Buscar ejecuciones
app-any-trainer = Todos los entrenadores
app-any-folder = Todas las carpetas
app-folder = Carpeta
app-no-folder = (esta carpeta)
app-group = Agrupar por carpeta
app-sort = Orden
app-column-state = Estado
app-column-run = Ejecución
app-column-trainer = Entrenador
app-column-progress = Progreso
app-column-step = Por iteración
app-column-left = Resto o fin
app-column-overhead = Sobrecoste
app-column-loss = Mejor pérdida val.
app-column-time = Ritmo y pausas
app-column-updated = Actualizado
app-state-running = En marcha
app-state-stalled = ¿Parada?
app-state-finished = Terminada
app-state-crashed = Fallida
app-state-out-of-memory = Sin memoria
app-state-interrupted = Interrumpida
app-state-killed = Matada
app-state-stopped = Detenida
app-state-unknown = En silencio
app-state-unread = Sin leer
app-looking = Buscando ejecuciones…
app-reading = Leyendo: { $read } de { $found } archivos
app-count = { $shown } de { $total } ejecuciones
app-others = Archivos sin log de entrenamiento: { $count }
app-unreadable = Carpetas que no se pueden leer: { $count }
app-no-match = Ninguna ejecución coincide. Borra la búsqueda o elige otro estado.
app-empty-start = Empieza un entrenamiento con sus tiempos registrados y aparecerá aquí en segundos:
app-empty-paste = O abre un log que está en otro sitio: suéltalo en esta página o pega sus líneas con «Nuevo».
app-choose-file = O elige un archivo:
app-facts = Lo que el log no dice
app-facts-ask = ¿Cuántas iteraciones tendrá esta ejecución? El log no lo dice
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
app-offline = El servidor no responde: ¿sigue en marcha stepscope serve? Esta página muestra lo último que supo y vuelve a intentarlo.
app-alarms = Alarmas
app-notify-on = Avisarme
app-notify-off = Avisos activados
app-notify-denied = El navegador bloquea los avisos de esta página; permítelos en sus ajustes del sitio.
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
app-instead-reason-no-total = el log no dice cuántas iteraciones tiene la ejecución. Rellena «Iteraciones en total» arriba.
app-instead-reason-implausible-total = el total indicado de { $total } iteraciones no es creíble: al ritmo actual tardarían otros { $left }. Corrige «Iteraciones en total» arriba.
app-instead-reason-no-total-unread = no se leyó cuántas iteraciones tiene la ejecución. Puede que lo digan líneas como «{ $text }» (línea { $line }); Stepscope no las lee. Rellena «Iteraciones en total» arriba.
app-instead-summary-so-far-no-total = { $wall } hasta ahora; para la hora de fin, rellena «Iteraciones en total»
app-instead-summary-each-no-total = { $wall } hasta ahora, { $level } por iteración; para la hora de fin, rellena «Iteraciones en total»
app-instead-error-no-such-file = esta ejecución no está (o ya no está) en la carpeta
    .hint = vuelve a la lista: muestra lo que hay ahora
app-instead-error-compare-needs-two = una comparación necesita al menos dos ejecuciones con tiempos
    .hint = vuelve y marca dos filas o más de la lista
error-bad-fact = «{ $text }» no es un número entero de al menos 1
    .hint = vuelve atrás y escríbelo como 20000 o 124M
