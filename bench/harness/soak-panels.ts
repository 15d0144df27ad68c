import { median, percentile } from './figures.ts';
import type { Panel } from './soak-graph.ts';
import type { Sample } from './soak-load.ts';
import type { ProcessSample } from './soak-processes.ts';

/** Returns the graphs of a run: memory, descriptors and latencies. Each point is the median of a sixtieth of the time. */
export function panelsOf(
  processes: readonly ProcessSample[],
  samples: readonly Sample[],
  seconds: number,
): readonly Panel[] {
  const pids = [...new Set(processes.map(({ pid }) => pid))];
  const perProcess = (figure: (sample: ProcessSample) => number) =>
    pids.map((pid, index) => {
      const own = processes.filter((sample) => sample.pid === pid);
      const points = inWindows(own, seconds, (part) => median(part.map(figure)));
      return { name: index === 0 ? 'primary' : `worker ${index}`, points };
    });
  const perKind = (figure: (latencies: readonly number[]) => number) =>
    [...new Set(samples.map(({ kind }) => kind))].toSorted().map((kind) => {
      const own = samples.filter((sample) => sample.kind === kind);
      const points = inWindows(own, seconds, (part) => figure(part.map(({ latency }) => latency)));
      return { name: kind, points };
    });
  return [
    { title: 'Resident memory', unit: 'MB', isLogarithmic: false, lines: perProcess(({ resident }) => resident / 1e6) },
    {
      title: 'Open descriptors',
      unit: 'number',
      isLogarithmic: false,
      lines: perProcess(({ descriptors }) => descriptors),
    },
    { title: 'Latency, median', unit: 'ms', isLogarithmic: true, lines: perKind(median) },
    {
      title: 'Latency, 95th percentile',
      unit: 'ms',
      isLogarithmic: true,
      lines: perKind((latencies) => percentile(latencies, 95)),
    },
  ];
}

const windows = 60;

/** Returns a point for each part of the time with measurements: its middle in minutes, and the figure. */
function inWindows<Timed extends { readonly at: number }>(
  all: readonly Timed[],
  seconds: number,
  figure: (part: readonly Timed[]) => number,
): [number, number][] {
  const parts: Timed[][] = Array.from({ length: windows }, () => []);
  for (const each of all) parts[Math.min(windows - 1, Math.floor((each.at / seconds) * windows))]?.push(each);
  return parts.flatMap((part, index): [number, number][] => {
    return part.length === 0 ? [] : [[((index + 0.5) * seconds) / windows / 60, figure(part)]];
  });
}
