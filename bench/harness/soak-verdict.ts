import { median, percentile } from './figures.ts';
import type { Sample } from './soak-load.ts';
import type { ProcessSample } from './soak-processes.ts';

/** A figure that must not grow: in the first third after the warm-up, and in the last third. */
export interface Finding {
  readonly what: string;
  readonly unit: string;
  readonly first: number;
  readonly last: number;
  /** The maximum in the last third. */
  readonly most: number;
  readonly isFlat: boolean;
}

/** The part of the time in which a service fills its caches and compiles code. */
export const warmUpShare = 0.2;

/** Minimum requests of a kind in a third for meaningful percentiles. */
export const MIN_SAMPLES = 50;

/** Compares the last third of a run with the first, for every process and every kind of request. */
export function judge(processes: readonly ProcessSample[], samples: readonly Sample[], seconds: number): Finding[] {
  const pids = [...new Set(processes.map(({ pid }) => pid))];
  const findings = pids.flatMap((pid, index) => {
    const own = processes.filter((sample) => sample.pid === pid);
    const of = (figure: 'resident' | 'descriptors') =>
      thirds(own, seconds).map((third) => median(third.map((each) => each[figure])));
    const name = index === 0 ? 'the primary' : `worker ${index}`;
    return [
      finding(
        `memory of ${name}`,
        'MB',
        of('resident').map((bytes) => bytes / 1e6),
        (first) => first * 1.1 + 8,
      ),
      finding(`descriptors of ${name}`, '', of('descriptors'), (first) => first * 1.1 + 8),
    ];
  });
  const kinds = [...new Set(samples.map(({ kind }) => kind))].toSorted();
  return [
    ...findings,
    ...kinds.flatMap((kind) => {
      const own = thirds(
        samples.filter((sample) => sample.kind === kind),
        seconds,
      ).map((third) => third.map(({ latency }) => latency));
      if (own.some((third) => third.length < MIN_SAMPLES)) return [];
      return [
        finding(`${kind}, median`, 'ms', own.map(median), (first) => first * 1.5 + 2),
        finding(
          `${kind}, p95`,
          'ms',
          own.map((third) => percentile(third, 95)),
          (first) => first * 2 + 10,
        ),
      ];
    }),
  ];
}

/** Returns the first and the last third of the time after the warm-up. */
function thirds<Timed extends { readonly at: number }>(all: readonly Timed[], seconds: number): [Timed[], Timed[]] {
  const begin = seconds * warmUpShare;
  const third = (seconds - begin) / 3;
  return [
    all.filter(({ at }) => at >= begin && at < begin + third),
    all.filter(({ at }) => at >= seconds - third && at <= seconds),
  ];
}

function finding(
  what: string,
  unit: string,
  [first = Number.NaN, last = Number.NaN]: readonly number[],
  mostOf: (first: number) => number,
): Finding {
  const most = mostOf(first);
  return { what, unit, first, last, most, isFlat: last <= most };
}
