/** Returns the median; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** Returns a percentile: the smallest value that this percentage of the values does not exceed; NaN without values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

/** Formats three significant digits, without decimals from 100, with commas: `0.214`, `38.2`, `12,345`. */
export function formatFigure(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value === 0 ? '0' : String(Number(value.toPrecision(3)));
}

/** Formats the minimum and maximum: `37.1 – 40.4`. */
export function formatSpread(values: readonly number[]): string {
  return `${formatFigure(Math.min(...values))} – ${formatFigure(Math.max(...values))}`;
}

/** Formats megabytes of 1,000,000 bytes, without the unit. */
export function formatMegabytes(bytes: number): string {
  return Number.isFinite(bytes) ? (bytes / 1e6).toFixed(1) : '–';
}
