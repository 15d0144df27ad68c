import sharp from 'sharp';

/** A landscape: the colours of the sky from above, and of the farthest and nearest ridge. */
export interface Landscape {
  readonly sky: readonly [top: string, middle: string, horizon: string];
  readonly far: string;
  readonly near: string;
  /** How rough the ridges are, from 0 (dunes) to 1 (mountains). */
  readonly relief: number;
  /** Position of the sun or moon in percent, and its colour. */
  readonly sun?: readonly [x: number, y: number, radius: number, colour: string];
  /** Whether a lake in the foreground reflects the sky. */
  readonly hasLake?: boolean;
}

/** Draws a landscape as a JPEG with the grain of a camera, so that it has the size of a photo. */
export async function drawLandscape(
  seed: number,
  landscape: Landscape,
  width: number,
  height: number,
): Promise<Buffer> {
  const grain = await sharp({
    create: { width, height, channels: 3, background: 'grey', noise: { type: 'gaussian', mean: 128, sigma: 14 } },
  })
    .png({ compressionLevel: 1 })
    .toBuffer();
  return sharp(Buffer.from(svgOf(seed, landscape, width, height)))
    .removeAlpha()
    .composite([{ input: grain, blend: 'soft-light' }])
    .jpeg({ quality: 88 })
    .toBuffer();
}

function svgOf(
  seed: number,
  { sky, far, near, relief, sun, hasLake }: Landscape,
  width: number,
  height: number,
): string {
  const shore = hasLake ? 72 : 101;
  const layers = [0, 1, 2, 3, 4].map((layer) => {
    const outline = ridge(seed * 13 + layer * 5, 40 + layer * (hasLake ? 7 : 12), relief * (1 - layer * 0.12), shore);
    return `<path d="${outline}" fill="${mix(far, near, layer / 4)}"/>`;
  });
  const light = sun
    ? `<radialGradient id="light"><stop stop-color="${sun[3]}"/><stop offset="0.25" stop-color="${sun[3]}" stop-opacity="0.85"/>
        <stop offset="1" stop-color="${sun[3]}" stop-opacity="0"/></radialGradient>
       <ellipse cx="${sun[0]}" cy="${sun[1]}" rx="${(sun[2] * 3 * height) / width}" ry="${sun[2] * 3}" fill="url(#light)"/>
       <ellipse cx="${sun[0]}" cy="${sun[1]}" rx="${(sun[2] * height) / width}" ry="${sun[2]}" fill="${sun[3]}"/>`
    : '';
  const scene = `<rect width="100" height="100" fill="url(#sky)"/>${light}${layers.join('')}`;
  const lake = hasLake
    ? `<clipPath id="water"><rect y="${shore}" width="100" height="${100 - shore}"/></clipPath>
       <g clip-path="url(#water)"><g transform="matrix(1 0 0 -0.75 0 ${shore * 1.75})" filter="url(#ripples)">${scene}</g>
       <rect y="${shore}" width="100" height="${100 - shore}" fill="${near}" opacity="0.35"/></g>`
    : '';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 100 100"
    preserveAspectRatio="none">
    <linearGradient id="sky" x2="0" y2="0.75"><stop stop-color="${sky[0]}"/><stop offset="0.6" stop-color="${sky[1]}"/>
    <stop offset="1" stop-color="${sky[2]}"/></linearGradient>
    <filter id="ripples"><feGaussianBlur stdDeviation="0 0.15"/></filter>
    ${scene}${lake}</svg>`;
}

/** The outline of a ridge by midpoint displacement, from `top` percent down to `bottom`. The same seed draws the same ridge. */
function ridge(seed: number, top: number, relief: number, bottom: number): string {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  let heights = [random() * 10, random() * 18, random() * 10];
  for (let spread = 14; heights.length < 400; spread *= 0.36 + relief * 0.16) {
    heights = heights.flatMap((height, index) => {
      const next = heights[index + 1];
      return next === undefined ? [height] : [height, (height + next) / 2 + random() * spread];
    });
  }
  const points = heights.map(
    (height, index) => `${((index * 100) / (heights.length - 1)).toFixed(2)},${(top + height).toFixed(2)}`,
  );
  return `M0,${bottom} L${points.join(' ')} L100,${bottom} Z`;
}

/** The colour between two colours of six hexadecimal digits. */
function mix(from: string, to: string, share: number): string {
  const channels = [1, 3, 5].map((at) => {
    const [start, end] = [from, to].map((colour) => Number.parseInt(colour.slice(at, at + 2), 16));
    return Math.round((start ?? 0) + ((end ?? 0) - (start ?? 0)) * share);
  });
  return `rgb(${channels.join(' ')})`;
}
