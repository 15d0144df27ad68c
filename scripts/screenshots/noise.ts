/** A colour with channels from 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

/** Parses a colour of six hexadecimal digits after `#`. */
export function colourOf(text: string): Colour {
  const value = Number.parseInt(text.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The colour between two colours. */
export function mix(from: Colour, to: Colour, share: number): Colour {
  return [
    from[0] + (to[0] - from[0]) * share,
    from[1] + (to[1] - from[1]) * share,
    from[2] + (to[2] - from[2]) * share,
  ];
}

/** A colour that is brighter or darker. */
export function scaled([red, green, blue]: Colour, by: number): Colour {
  return [red * by, green * by, blue * by];
}

/** The colour of a surface in two lights. */
export function lighted(surface: Colour, one: Colour, other: Colour): Colour {
  const [red, green, blue] = [0, 1, 2].map((at) => ((surface[at] ?? 0) * ((one[at] ?? 0) + (other[at] ?? 0))) / 255);
  return [red ?? 0, green ?? 0, blue ?? 0];
}

/** 0 up to `from`, 1 from `to` on, and a smooth curve between them. */
export function smoothStep(from: number, to: number, value: number): number {
  const share = Math.max(0, Math.min(1, (value - from) / (to - from)));
  return share * share * (3 - 2 * share);
}

/** A random number from 0 to 1 of a cell of the plane. */
export function cellRandom(x: number, y: number): number {
  let hash = Math.imul(x | 0, 374_761_393) + Math.imul(y | 0, 668_265_263);
  hash = Math.imul(hash ^ (hash >>> 13), 1_274_126_177);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** Smooth noise from 0 to 1: random numbers at whole coordinates, interpolated between them. */
export function noiseAt(x: number, y: number): number {
  const [column, row] = [Math.floor(x), Math.floor(y)];
  const [u, v] = [smoothStep(0, 1, x - column), smoothStep(0, 1, y - row)];
  const upper = cellRandom(column, row) * (1 - u) + cellRandom(column + 1, row) * u;
  const lower = cellRandom(column, row + 1) * (1 - u) + cellRandom(column + 1, row + 1) * u;
  return upper * (1 - v) + lower * v;
}

/** Noise with details: the sum of `octaves` noises, each with twice the frequency and half the height of the one before. */
export function fractalNoise(x: number, y: number, octaves: number): number {
  let [sum, share, total] = [0, 1, 0];
  for (let octave = 0; octave < octaves; octave++) {
    sum += share * noiseAt(x, y);
    total += share;
    share /= 2;
    // Turned, so that the grids of the octaves don't coincide.
    [x, y] = [x * 1.6 + y * 1.2 + 17, y * 1.6 - x * 1.2 + 43];
  }
  return sum / total;
}

/** Noise with sharp ridges, from 0 to 1, like mountains. */
export function ridges(x: number, y: number, octaves: number): number {
  let [sum, share, total, weight] = [0, 1, 0, 1];
  for (let octave = 0; octave < octaves; octave++) {
    const ridge = (1 - Math.abs(2 * noiseAt(x, y) - 1)) ** 2 * weight;
    sum += share * ridge;
    total += share;
    weight = Math.min(1, ridge * 1.6);
    share *= 0.48;
    [x, y] = [x * 1.6 + y * 1.2 + 17, y * 1.6 - x * 1.2 + 43];
  }
  return sum / total;
}
