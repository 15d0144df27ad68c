import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

// Draws the icons of the installed web UI again, into web/src/app-icons. They are committed, so that builds need no image library.

const FOLDER = fileURLToPath(new URL('../web/src/app-icons/', import.meta.url));

/** The holdall of web/src/ui/mark.svg, in one colour. Its seam and its lock are holes, so that the background shows. */
const mark = (colour: string) => `
  <mask id="holes">
    <rect fill="#fff" width="32" height="32"/>
    <path stroke="#000" stroke-width="2" d="M2 18.5h28"/>
    <rect fill="#000" x="11.75" y="14.75" width="8.5" height="8.5" rx="2.5"/>
  </mask>
  <path fill="none" stroke="${colour}" stroke-width="3" stroke-linecap="round" d="M10.5 13V9.5a5.5 5.5 0 0 1 11 0V13"/>
  <rect fill="${colour}" mask="url(#holes)" x="2.5" y="11.5" width="27" height="16" rx="5"/>
  <rect fill="${colour}" x="13.75" y="16.75" width="4.5" height="4.5" rx="1.25"/>`;

interface Icon {
  readonly pixels: number;
  /** The share of the width that the holdall has. */
  readonly scale: number;
  /** The radius of the corners of the background, as a share of the width; undefined for no background. */
  readonly radius?: number;
}

/** The safe zone of a maskable icon is a circle of 80 % of its width (Web Application Manifest, section 2.6). */
const ICONS: Readonly<Record<string, Icon>> = {
  'icon-192': { pixels: 192, scale: 0.62, radius: 0.22 },
  'icon-512': { pixels: 512, scale: 0.62, radius: 0.22 },
  'maskable-512': { pixels: 512, scale: 0.5, radius: 0 },
  'apple-touch-180': { pixels: 180, scale: 0.58, radius: 0 },
  'monochrome-192': { pixels: 192, scale: 0.8 },
};

await mkdir(FOLDER, { recursive: true });
for (const [name, { pixels, scale, radius }] of Object.entries(ICONS)) {
  const size = 32 / scale;
  // The visible holdall is 27 × 23 units around (16, 16.25).
  const [left, top] = [16 - size / 2, 16.25 - size / 2];
  const background =
    radius === undefined
      ? ''
      : `<defs><linearGradient id="blue" x2="0" y2="1"><stop stop-color="#4a8bec"/><stop offset="1" stop-color="#2c68c8"/></linearGradient></defs>
         <rect fill="url(#blue)" x="${left}" y="${top}" width="${size}" height="${size}" rx="${size * radius}"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="${left} ${top} ${size} ${size}">${background}${mark('#fff')}</svg>`;
  const image = sharp(Buffer.from(svg), { density: 288 }).resize(pixels, pixels);
  const drawn = radius === 0 ? image.removeAlpha() : image;
  await writeFile(join(FOLDER, `${name}.png`), await drawn.png({ palette: true, effort: 10 }).toBuffer());
}
