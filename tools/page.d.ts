// What the scripts get from Python, and what is on the page already. `tests/unit/test_script_types.py` compares the
// names with what Python writes.

/** A number for each phase, part or column: its key is the phase. */
type Parts = [phase: string, seconds: number][];

/** `report/page_data.py` */
interface PageData {
  strip: { first: number; wide: boolean; step: string; seconds: string; spans: number | string; every: number };
  stops: [first: number, last: number, isMeasured: boolean, parts: Parts][];
  evidence: [step: number, words: string][];
  levels: { first: number; last: number; seconds: number; label: string }[];
  loss: { step: number[]; train: (number | null)[]; validation: (number | null)[]; best: [step: number, loss: number] | null } | null;
  throughput: { step: number[]; rate: number[] } | null;
  cards: Record<"load" | "memory" | "power" | "temperature" | "seconds" | "step", (number | null)[]> | null;
  ranks: Ranks | null;
  ahead: Ahead | null;
  whatif: WhatIf | null;
  words: Words;
}

interface Ranks {
  first: number;
  last: number;
  names: string[];
  seconds: (number | null)[][];
}

type Fan = [target: number, left_s: number, low_s: number, high_s: number];

interface Ahead {
  seconds: number[];
  step: number[];
  forecast: Fan | null;
  backtests: [elapsed_s: number, step: number, target: number, left_s: number, low_s: number, high_s: number][];
}

interface WhatIf {
  last_step: number;
  done_step: number;
  max_steps: number;
  steps: number;
  step_s: number;
  evaluations: number;
  evaluation_s: number;
  checkpoint_s: number;
  other_s: number;
  saves_follow: boolean;
  eval_interval: number | null;
  eval_iters: number | null;
  checkpoint_interval: number | null;
  remaining_s: number;
  low_s: number;
  high_s: number;
  loss_sd: number | null;
  moment: string | null;
}

/** Words with holes in braces, and how numbers are written. */
interface Words {
  pads_hours: boolean;
  least_grouped: number;
  day: string;
  phases: Record<string, string>;
  iteration: string;
  loss: string;
  validation: string;
  throughput: string;
  time: string;
  load: string;
  memory: string;
  power: string;
  temperature: string;
  best: string;
  line: string;
  tip: string;
  tip_window: string;
  window: string;
  left: string;
  done: string;
  less: string;
  more: string;
  evaluations: string;
  error: string;
  clock_with_date: string;
}

/** `web/rows.py` */
interface Row {
  key: string;
  name: string;
  size: number;
  mtime: number;
  files: number;
  problem: string | null;
  title?: string;
  state?: string | null;
  evidence?: string | null;
  silence?: [recent_s: number, long_s: number, over: string | null] | null;
  written?: number | null;
  moment?: number | null;
  step?: number | null;
  total?: number | null;
  typical_s?: number | null;
  remaining_s?: number | null;
  low_s?: number | null;
  high_s?: number | null;
  confidence?: number;
  wall_s?: number | null;
  lost?: number | null;
  best_loss?: number | null;
  best_step?: number | null;
  alarms?: [code: string, severity: string, sentence: string][];
  levels?: (number | null)[];
  losses?: [stretch: number, phase: string, hundredths: number][];
  pulses?: [from_s: number, doing: string, since_s: number, usual_s: number | null][];
}

type Color = (name: string) => string;

// What a selector finds is known where it is used.
interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}
interface Element {
  closest(selector: string): any;
}
interface Document {
  getElementById(id: string): any;
}

declare const uPlot: { new (options: object, columns: ArrayLike<number | null>[], holder: Element): any; join(tables: any[]): any[] };

interface Window {
  uPlot: typeof uPlot;
  stepscope: {
    draw(): void;
    keep(): object;
    restore(state: object): void;
    number(value: number, digits?: number): string;
    duration(seconds: number, scale?: number): string;
    span(low: number, high: number): string;
    clock(moment: string, seconds: number, frame: string): string;
    whatIf(base: WhatIf, settings: object): object;
    view(): [number, number];
  };
}
