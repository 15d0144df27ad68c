import sharp from 'sharp';
import {
  type Colour,
  cellRandom,
  colourOf,
  fractalNoise,
  lighted,
  mix,
  noiseAt,
  ridges,
  scaled,
  smoothStep,
} from './noise.ts';

/*
 * Draws landscapes that look like photographs: a terrain of fractal noise with forest, rock, snow and water, lit by the
 * sun, with shadows, haze and clouds. The terrain is drawn column by column, from the front to the back.
 */

/** A landscape and its light. */
export interface Landscape {
  /** The colours of the sky from above. */
  readonly sky: readonly [top: string, middle: string, horizon: string];
  /** Where the sun or moon is, in degrees: to the right of the view, and above the horizon. */
  readonly sun: { readonly angle: number; readonly height: number; readonly colour: string };
  /** The colours of the ground: of grass and forest, and of rock and sand. */
  readonly ground: readonly [green: string, rock: string];
  /** The height of the mountains, from 0 (plain) to 1. */
  readonly relief: number;
  /** The share of the ground that forest covers, and the height from which snow lies, from 0 to 1. */
  readonly forest: number;
  readonly snowLine: number;
  /** The height of the water, from 0 (none) to 1. */
  readonly water: number;
  /** How much of the sky is covered by clouds, and how dense the haze is, from 0 to 1. */
  readonly clouds: number;
  readonly haze: number;
}

/** The width of the drawing, in pixels. It is enlarged to the size of the photo. */
const DRAWN_WIDTH = 1_500;

/**
 * Draws a landscape as a JPEG with the grain and the metadata of a camera. The same seed draws the same landscape. `taken`
 * is a local time, such as `2026-06-14T11:05:00`.
 */
export async function drawLandscape(
  seed: number,
  landscape: Landscape,
  { width, height, taken }: { readonly width: number; readonly height: number; readonly taken: string },
): Promise<Buffer> {
  const size = { width: DRAWN_WIDTH, height: Math.round((DRAWN_WIDTH * height) / width) };
  const pixels = draw(createScene(seed, landscape), size.width, size.height);
  const grain = await sharp({
    create: { width, height, channels: 3, background: 'grey', noise: { type: 'gaussian', mean: 128, sigma: 9 } },
  })
    .png({ compressionLevel: 1 })
    .toBuffer();
  return sharp(pixels, { raw: { ...size, channels: 3 } })
    .resize(width, height, { kernel: 'lanczos3' })
    .composite([{ input: grain, blend: 'soft-light' }])
    .withExif({
      IFD0: { Make: 'Canon', Model: 'EOS R6' },
      IFD2: { DateTimeOriginal: taken.replaceAll('-', ':').replace('T', ' ') },
    })
    .jpeg({ quality: 86 })
    .toBuffer();
}

/** Distances from the camera between which the terrain is drawn, and the height of the tallest mountain. */
const NEAR = 8;
const FAR = 3_000;
const TALLEST = 900;
/** The height of the camera above the ground or the water. */
const EYE = 22;
/** The width of a tree, and its height. */
const TREE_WIDTH = 9;
const TREE_HEIGHT = 17;

/** The height of a reflection in relation to what it reflects. Below 1, so that it doesn't end within the picture. */
const MIRRORED = 0.78;

interface Scene extends Pick<Landscape, 'relief' | 'forest' | 'snowLine' | 'clouds' | 'haze'> {
  readonly seed: number;
  readonly sky: readonly [top: Colour, middle: Colour, horizon: Colour];
  readonly green: Colour;
  readonly rock: Colour;
  readonly light: Colour;
  /** The direction of the sun: right, up, ahead. */
  readonly toSun: Colour;
  readonly waterLevel: number;
  readonly eye: number;
}

function createScene(seed: number, { sky, sun, ground, water, ...rest }: Landscape): Scene {
  const [angle, elevation] = [(sun.angle * Math.PI) / 180, (sun.height * Math.PI) / 180];
  const waterLevel = water === 0 ? -1e9 : water * 0.3 * TALLEST * rest.relief;
  const scene = {
    ...rest,
    seed: seed * 1_013,
    sky: [colourOf(sky[0]), colourOf(sky[1]), colourOf(sky[2])] as const,
    green: colourOf(ground[0]),
    rock: colourOf(ground[1]),
    light: colourOf(sun.colour),
    toSun: [Math.sin(angle) * Math.cos(elevation), Math.sin(elevation), Math.cos(angle) * Math.cos(elevation)] as const,
    waterLevel,
    eye: 0,
  };
  return { ...scene, eye: Math.max(heightAt(scene, 0, 0, 6), waterLevel) + EYE };
}

/** The height of the ground, without trees. A valley leads away from the camera. */
function heightAt({ seed, relief }: Scene, x: number, z: number, octaves: number): number {
  const ridge = ridges(x / 780 + seed, z / 780, octaves);
  const hills = noiseAt(x / 210 + seed, z / 210 + 7) * 0.12;
  const valley = smoothStep(30, 620, Math.abs(x - 120 * Math.sin(z / 420 + seed)) - z * 0.03);
  const rise = smoothStep(-200, 1_900, z);
  return TALLEST * relief * (ridge * (0.2 + 0.8 * valley) * (0.35 + 0.75 * rise) + hills * (0.3 + 0.7 * valley));
}

/** The height of the trees at a place, which is 0 between them. */
function treeAt({ seed, forest }: Scene, x: number, z: number, cover: number): number {
  let tallest = 0;
  const [column, row] = [Math.floor(x / TREE_WIDTH), Math.floor(z / TREE_WIDTH)];
  for (let dx = -1; dx <= 1; dx++) {
    for (let dz = -1; dz <= 1; dz++) {
      const random = cellRandom(column + dx + seed, row + dz);
      if (random > forest * cover) continue;
      const shift = (random * 9_973) % 1;
      const distance = Math.hypot(
        x - (column + dx + 0.2 + 0.6 * shift) * TREE_WIDTH,
        z - (row + dz + 0.8 - 0.6 * shift) * TREE_WIDTH,
      );
      const size = (0.55 + 0.6 * ((random * 7_919) % 1)) * (0.75 + 0.5 * noiseAt(x * 1.7, z * 1.7 + column));
      tallest = Math.max(tallest, size * TREE_HEIGHT * (1 - distance / (TREE_WIDTH * 0.62 * size)));
    }
  }
  return tallest;
}

/** The pixels, three bytes each, row by row. */
function draw(scene: Scene, width: number, height: number): Buffer {
  const pixels = Buffer.alloc(width * height * 3);
  const isWater = new Uint8Array(width * height);
  const focal = Math.max(width, height) * 0.9;
  const horizon = Math.round(height * (scene.waterLevel > 0 ? 0.46 : 0.64));
  const view = { pixels, isWater, width, height, focal, horizon };
  for (let column = 0; column < width; column++) {
    drawSky(scene, view, column);
    drawGround(scene, view, column);
    mirror(scene, view, column);
  }
  return pixels;
}

interface View {
  readonly pixels: Buffer;
  readonly isWater: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** The distance of the picture plane, in pixels. */
  readonly focal: number;
  /** The row of the horizon. */
  readonly horizon: number;
}

function put({ pixels, width }: View, column: number, row: number, colour: Colour): void {
  const at = (row * width + column) * 3;
  for (const [channel, value] of colour.entries()) pixels[at + channel] = Math.max(0, Math.min(255, value));
}

function drawSky(scene: Scene, view: View, column: number): void {
  const right = (column - view.width / 2) / view.focal;
  for (let row = 0; row < view.height; row++)
    put(view, column, row, skyAt(scene, right, (view.horizon - row) / view.focal));
}

/** The colour of the sky in a direction, given as its slopes to the right and up. */
function skyAt({ sky, light, toSun, clouds, seed }: Scene, right: number, up: number): Colour {
  const rise = Math.max(0, up);
  const clear = mix(mix(sky[2], sky[1], smoothStep(0, 0.22, rise)), sky[0], smoothStep(0.12, 0.62, rise));
  const length = Math.hypot(right, up, 1);
  const facing = Math.max(0, (right * toSun[0] + up * toSun[1] + toSun[2]) / length);
  const glow = 0.34 * facing ** 10 + 0.5 * facing ** 90;
  const disc = smoothStep(0.99935, 0.9996, facing);
  const plane = 1 / (rise + 0.09);
  const [x, y] = [right * plane * 1.1 + seed, plane * 1.9];
  const density = fractalNoise(x * 0.9, y * 0.9, 6);
  const cover = smoothStep(0.66 - 0.38 * clouds, 0.98 - 0.38 * clouds, density) * smoothStep(0.01, 0.12, rise);
  const towardsSun = fractalNoise(x * 0.9 + 0.12, y * 0.9 - 0.16, 6);
  const lit = 0.78 + 1.4 * (density - towardsSun) + 0.3 * facing ** 4;
  const cloud = mix(mix(clear, [255, 255, 255], 0.55), light, 0.3);
  const shown = mix(
    mix(clear, light, Math.min(1, glow)),
    scaled(cloud, Math.max(0.62, Math.min(1.06, lit))),
    0.86 * cover,
  );
  return mix(shown, [255, 250, 238], disc * (1 - cover));
}

function drawGround(scene: Scene, view: View, column: number): void {
  const { height, focal, horizon } = view;
  const right = (column - view.width / 2) / focal;
  let lowest = height;
  let last: Colour | undefined;
  for (let z = NEAR; z < FAR && lowest > 0; z += Math.max(0.35, z * 0.0035)) {
    const x = right * z;
    const octaves = z < 400 ? 9 : z < 1_200 ? 8 : 7;
    const ground = heightAt(scene, x, z, octaves);
    const isWet = ground < scene.waterLevel;
    const surface = isWet ? { top: scene.waterLevel, tree: 0, cover: 0 } : coveredAt(scene, x, z, ground);
    const row = Math.max(0, Math.ceil(horizon - ((surface.top - scene.eye) / z) * focal));
    if (row >= lowest) continue;
    const colour = isWet ? scene.sky[2] : groundColour(scene, { x, z, right, octaves, ground, ...surface });
    for (let at = row; at < lowest; at++) {
      put(view, column, at, last && !isWet ? mix(colour, last, (at - row) / (lowest - row)) : colour);
      view.isWater[at * view.width + column] = isWet ? 1 : 0;
    }
    last = isWet ? undefined : colour;
    lowest = row;
  }
}

interface Surface {
  readonly top: number;
  /** The height of the tree at the place. */
  readonly tree: number;
  /** How well trees grow here, from 0 to 1. */
  readonly cover: number;
}

function coveredAt(scene: Scene, x: number, z: number, ground: number): Surface {
  const share = ground / TALLEST;
  const patches = smoothStep(0.32, 0.6, fractalNoise(x / 130 + scene.seed, z / 130, 3));
  const cover = patches * (1 - smoothStep(scene.snowLine * 0.5, scene.snowLine * 0.8, share));
  const tree = scene.forest > 0 && cover > 0 && z > 110 ? treeAt(scene, x, z, cover) : 0;
  return { top: ground + tree, tree, cover };
}

interface Place extends Surface {
  readonly x: number;
  readonly z: number;
  readonly right: number;
  readonly octaves: number;
  readonly ground: number;
}

function groundColour(scene: Scene, { x, z, right, octaves, ground, tree, cover }: Place): Colour {
  const step = Math.max(0.8, z * 0.004);
  const slopeX = (heightAt(scene, x + step, z, octaves) - ground) / step;
  const slopeZ = (heightAt(scene, x, z + step, octaves) - ground) / step;
  const upright = 1 / Math.hypot(slopeX, 1, slopeZ);
  const facing = (-slopeX * scene.toSun[0] + scene.toSun[1] - slopeZ * scene.toSun[2]) * upright;
  const texture = 0.76 + 0.28 * fractalNoise(x / 3 + 31, z / 3, 4) + 0.2 * noiseAt(x * 2.3, z * 1.1);
  const share = ground / TALLEST;
  const steep = smoothStep(0.86, 0.62, upright + 0.12 * (texture - 1));
  const snow =
    smoothStep(scene.snowLine, scene.snowLine + 0.09, share + 0.16 * (texture - 1)) * smoothStep(0.5, 0.74, upright);
  const meadow = mix(scene.green, mix(scene.green, [226, 208, 120], 0.42), fractalNoise(x / 46, z / 46 + 5, 4));
  const dry = smoothStep(scene.snowLine * 0.55, scene.snowLine * 0.9, share);
  let base = mix(mix(meadow, scene.rock, Math.max(steep, dry * 0.75)), [246, 249, 255], snow);
  if (tree > 0) base = mix(scaled(scene.green, 0.34 + 0.03 * tree), base, 0.08);
  else if (cover > 0.35 && scene.forest > 0.3 && z > 110) base = scaled(base, 0.72);
  const sunlit = isShaded(scene, x, z, ground + tree) ? 0 : Math.max(0, tree > 0 ? 0.35 + 0.65 * facing : facing);
  const ambient = mix(scene.sky[1], [255, 255, 255], 0.2);
  const lit = lighted(
    scaled(base, texture),
    scaled(scene.light, 1.08 * sunlit),
    scaled(ambient, 0.42 * (0.6 + 0.4 * upright)),
  );
  const air = 1 - Math.exp(-((z / FAR) ** 1.25) * (0.55 + 3.6 * scene.haze));
  return mix(lit, skyAt({ ...scene, clouds: 0 }, right, 0.03), air);
}

/** Whether a mountain stands between a place and the sun. */
function isShaded(scene: Scene, x: number, z: number, height: number): boolean {
  for (let distance = 14; distance < 700; distance *= 1.5) {
    const top = heightAt(scene, x + scene.toSun[0] * distance, z + scene.toSun[2] * distance, 5);
    if (top > height + scene.toSun[1] * distance + 6) return true;
  }
  return false;
}

/** Draws the reflections in the water of a column. */
function mirror(scene: Scene, view: View, column: number): void {
  const { pixels, isWater, width, height, horizon } = view;
  for (let row = horizon; row < height; row++) {
    if (isWater[row * width + column] === 0) continue;
    const depth = row - horizon + 1;
    const distance = 1 / Math.max(2, depth);
    const ripple = fractalNoise(column * distance * 1.6 + scene.seed, distance * 9_000, 3) - 0.5;
    const from = Math.max(
      0,
      Math.min(horizon, Math.round(horizon - MIRRORED * (row - horizon) + ripple * Math.min(42, depth * 0.2))),
    );
    const side = Math.max(0, Math.min(width - 1, column + Math.round(ripple * 7)));
    const at = (from * width + (side <= column ? side : column)) * 3;
    const seen: Colour = [pixels[at] ?? 0, pixels[at + 1] ?? 0, pixels[at + 2] ?? 0];
    const deep = scaled(mix(scene.green, scene.sky[0], 0.5), 0.38);
    put(view, column, row, mix(deep, seen, 0.86 - 0.42 * smoothStep(0, height * 0.5, depth) + ripple * 0.22));
  }
}
