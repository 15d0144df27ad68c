/** A line of a panel: its name, and its points in the units of the axes. */
interface Line {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
}

/** One graph over the time of the run. */
export interface Panel {
  readonly title: string;
  readonly unit: string;
  /** Whether the axis is logarithmic. Otherwise, it starts at 0. */
  readonly isLogarithmic: boolean;
  readonly lines: readonly Line[];
}

/** Draws panels above one axis of minutes, for light and dark pages. */
export function drawGraph(title: string, panels: readonly Panel[], minutes: number): string {
  const height = top + panels.length * (panelHeight + gap) + 24;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="${escape(title)}">
<style>
  .ground { fill: #ffffff; } text { fill: #26324a; } .small { font-size: 11px; fill: #5a6780; }
  .grid { stroke: #dde3ee; } .line { fill: none; stroke-width: 1.5; stroke-linejoin: round; }
  ${coloured(0)}
  @media (prefers-color-scheme: dark) {
    .ground { fill: #12161f; } text { fill: #dfe6f3; } .small { fill: #9dabc5; } .grid { stroke: #2b3446; }
    ${coloured(1)}
  }
</style>
<rect class="ground" width="${width}" height="${height}"/>
<text x="${left}" y="22" font-size="15" font-weight="600">${escape(title)}</text>
${panels.map((panel, index) => drawPanel(panel, top + index * (panelHeight + gap), minutes)).join('\n')}
<text class="small" x="${left + plotWidth / 2}" y="${height - 6}" text-anchor="middle">minutes</text>
</svg>
`;
}

const [width, left, plotWidth, top, panelHeight, gap] = [860, 64, 580, 60, 170, 52];

/** Colours for light and dark pages that colour-blind users can distinguish: by Okabe and Ito, lighter for dark pages. */
const lineColours = [
  ['#0072b2', '#56b4e9'],
  ['#d55e00', '#ff9a4d'],
  ['#009e73', '#3ddbb0'],
  ['#a3548a', '#e39ac8'],
  ['#8a6d00', '#f0e442'],
  ['#555555', '#bbbbbb'],
  ['#7a3fc4', '#b794f6'],
  ['#b00020', '#ff7b8a'],
  ['#3a7d00', '#9ee05a'],
  ['#004e64', '#7fd6e8'],
] as const;

/** Returns the colours of lines and names. They come last, so that they take precedence. */
function coloured(theme: 0 | 1): string {
  return lineColours
    .map((colours, index) => `.l${index} { stroke: ${colours[theme]}; } .t${index} { fill: ${colours[theme]}; }`)
    .join(' ');
}

function drawPanel({ title, unit, isLogarithmic, lines }: Panel, y: number, minutes: number): string {
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value)).filter(Number.isFinite);
  const ticks = isLogarithmic ? decades(values) : steps(0, Math.max(1, ...values), 5);
  const [least = 0, most = 1] = [ticks[0], ticks.at(-1)];
  const scaled = (value: number) => (isLogarithmic ? Math.log10(Math.max(value, least)) : value);
  const across = (minute: number) => left + (minute / minutes) * plotWidth;
  const up = (value: number) => {
    return y + panelHeight - ((scaled(value) - scaled(least)) / (scaled(most) - scaled(least))) * panelHeight;
  };
  const grid = ticks.map((tick) => {
    const at = up(tick).toFixed(1);
    return `<path class="grid" d="M${left} ${at}h${plotWidth}"/><text class="small" x="${left - 6}" y="${at}" dy="4" text-anchor="end">${label(tick)}</text>`;
  });
  const times = steps(0, minutes, 10)
    .filter((minute) => minute <= minutes)
    .map(
      (minute) =>
        `<text class="small" x="${across(minute).toFixed(1)}" y="${y + panelHeight + 15}" text-anchor="middle">${label(minute)}</text>`,
    );
  const drawn = lines.map(({ name, points }, index) => {
    const colour = index % lineColours.length;
    const path = points
      .filter(([, value]) => Number.isFinite(value))
      .map(([minute, value], at) => `${at === 0 ? 'M' : 'L'}${across(minute).toFixed(1)} ${up(value).toFixed(1)}`)
      .join('');
    return (
      `<path class="line l${colour}" d="${path}"/>` +
      `<text class="small t${colour}" x="${left + plotWidth + 12}" y="${y + 8 + index * 16}">${escape(name)}</text>`
    );
  });
  return [`<text x="${left}" y="${y - 8}">${escape(title)}, ${unit}</text>`, ...grid, ...times, ...drawn].join('\n');
}

/** Returns about `count` round numbers from `from` to the first one that is not below `to`. */
function steps(from: number, to: number, wanted: number): number[] {
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.ceil((to - from) / step - 1e-9) + 1 }, (_, index) => from + index * step);
}

function decades(values: readonly number[]): number[] {
  const known = values.filter((value) => value > 0);
  const [first, last] = [Math.floor(Math.log10(Math.min(...known, 1))), Math.ceil(Math.log10(Math.max(...known, 10)))];
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

const label = (value: number) => Number(value.toPrecision(6)).toLocaleString('en-US', { maximumFractionDigits: 3 });

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
