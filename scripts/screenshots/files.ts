import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { drawLandscape, type Landscape } from './landscape.ts';

const DAWN: Landscape = {
  sky: ['#5b7ea8', '#e8b88f', '#fbe3c0'],
  far: '#a9a5b5',
  near: '#2e3a4a',
  relief: 0.9,
  sun: [64, 33, 4, '#fff3d6'],
};
const FJORD: Landscape = {
  sky: ['#6fa3cf', '#b9d6e8', '#e6f0f3'],
  far: '#9db6bf',
  near: '#23403a',
  relief: 0.8,
  hasLake: true,
};
const HIGHLAND: Landscape = { sky: ['#7d94a8', '#c3cdd1', '#e4e4dc'], far: '#a3aa98', near: '#5a5a2e', relief: 0.55 };
const SUNSET: Landscape = {
  sky: ['#3b3a68', '#c76a6a', '#f6b26b'],
  far: '#84577a',
  near: '#1d1a2f',
  relief: 0.6,
  sun: [30, 40, 5, '#ffe0a3'],
  hasLake: true,
};
const SNOW: Landscape = { sky: ['#4f86c6', '#a8cdea', '#eef6fb'], far: '#d5e3ee', near: '#7d99b3', relief: 1 };
const FOREST: Landscape = { sky: ['#8fb3c4', '#cfdcd4', '#eef0e2'], far: '#8fa996', near: '#1f3b2a', relief: 0.7 };
const NIGHT: Landscape = {
  sky: ['#0b1430', '#1f3a5f', '#4a7a78'],
  far: '#22405a',
  near: '#070d18',
  relief: 0.85,
  sun: [72, 18, 2.4, '#f4f3e6'],
  hasLake: true,
};
const DUNES: Landscape = { sky: ['#5fa0d0', '#a9d2e6', '#f2ead2'], far: '#d9c39a', near: '#a8824f', relief: 0.15 };

/** The album of the pictures: name, landscape, width and height in pixels, and when it was taken. */
const ALBUM: readonly (readonly [name: string, Landscape, number, number, string])[] = [
  ['Arrival in Bergen.jpg', HIGHLAND, 3000, 2000, '2026-06-13T17:42:00'],
  ['Aurlandsfjord.jpg', FJORD, 3000, 2000, '2026-06-14T11:05:00'],
  ['Beach at Refviksanden.jpg', DUNES, 3000, 2000, '2026-06-19T15:20:00'],
  ['Breakfast view.jpg', { ...DAWN, relief: 0.7, near: '#334a3c' }, 3000, 2000, '2026-06-17T07:31:00'],
  ['Dawn over the plateau.jpg', DAWN, 3000, 2000, '2026-06-16T04:48:00'],
  ['Evening at the lake.jpg', SUNSET, 3000, 2000, '2026-06-16T22:31:00'],
  ['First snow field.jpg', SNOW, 3000, 2000, '2026-06-15T10:12:00'],
  ['Flåm valley.jpg', { ...FOREST, sky: ['#7fb0d6', '#c5dde6', '#f1f0e0'] }, 3000, 2000, '2026-06-14T14:02:00'],
  ['Forest above Flåm.jpg', FOREST, 2000, 3000, '2026-06-14T16:37:00'],
  ['Geirangerfjord.jpg', { ...FJORD, near: '#2c4a55' }, 3000, 2000, '2026-06-18T12:58:00'],
  ['Jotunheimen.jpg', { ...SNOW, relief: 0.9, near: '#5f7790' }, 3000, 2000, '2026-06-17T13:26:00'],
  ['Lighthouse coast.jpg', { ...SUNSET, far: '#9a6a6a', near: '#2a2433' }, 3000, 2000, '2026-06-20T21:39:00'],
  ['Midnight.jpg', NIGHT, 3000, 2000, '2026-06-20T00:14:00'],
  [
    'Morning fog.jpg',
    { ...FOREST, sky: ['#b8c4c6', '#d9dcd6', '#eceae0'], near: '#4a5f57' },
    3000,
    2000,
    '2026-06-18T06:55:00',
  ],
  ['Old trail.jpg', { ...HIGHLAND, near: '#6b4f2a' }, 3000, 2000, '2026-06-17T09:40:00'],
  [
    'Pass road.jpg',
    { ...DAWN, sky: ['#6d93b8', '#c5d3da', '#f0e6d2'], near: '#3d4638' },
    3000,
    2000,
    '2026-06-17T18:03:00',
  ],
  ['Rain is coming.jpg', { ...HIGHLAND, sky: ['#4d5b68', '#8b979e', '#c3c8c6'] }, 3000, 2000, '2026-06-19T18:25:00'],
  [
    'Sognefjord.jpg',
    { ...FJORD, sky: ['#8a9fb5', '#cdd6da', '#eef0ec'], near: '#1d3346' },
    3000,
    2000,
    '2026-06-15T19:22:00',
  ],
  ['Summer night.jpg', { ...NIGHT, sky: ['#20375f', '#5f7f9f', '#d9b98f'] }, 3000, 2000, '2026-06-21T23:36:00'],
  ['Trolltunga.jpg', { ...HIGHLAND, relief: 0.95, near: '#3a4038' }, 2000, 3000, '2026-06-21T14:11:00'],
  ['Way home.jpg', { ...SUNSET, sun: [70, 38, 6, '#ffd58a'] }, 3000, 2000, '2026-06-22T21:50:00'],
];

export const ALBUM_NAMES: readonly string[] = ALBUM.map(([name]) => name);

/** Other files: their size in bytes, and when they were modified. Only names and sizes are seen of them. */
const OTHERS: readonly (readonly [path: string, size: number, modified: string])[] = [
  ['Documents/Insurance/Household policy.pdf', 284_113, '2025-11-04T10:00:00'],
  ['Music/Rehearsals/2026-09-03 Session.flac', 1_204_112, '2026-09-03T21:10:00'],
  ['Photos/2024 Lisbon/Alfama.jpg', 40_000, '2024-05-02T12:00:00'],
  ['Photos/2025 Scotland/Skye.jpg', 40_000, '2025-08-11T12:00:00'],
  ['Projects/Garden shed/Cut list.csv', 3_120, '2026-04-18T09:12:00'],
  ['Recipes/Sourdough.md', 4_211, '2026-02-01T08:30:00'],
  ['Budget 2026.csv', 18_432, '2026-10-31T19:04:00'],
  ['Floor plan.svg', 96_310, '2025-03-12T14:22:00'],
  ['Packing list.md', 2_045, '2026-06-10T20:15:00'],
  ['Rental agreement.pdf', 512_884, '2024-12-01T09:00:00'],
  ['Speech for Nora.docx', 38_902, '2026-08-21T23:47:00'],
  ['Winter concert.mp4', 6_212_640, '2025-12-19T22:05:00'],
];

/** Writes the files of a user to a folder, and the photos of an album, which they have not uploaded yet, to another one. */
export async function writeUserFiles(served: string, album: string): Promise<void> {
  await mkdir(album, { recursive: true });
  for (const [path, size, modified] of OTHERS) {
    const file = join(served, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, 'x'.repeat(size));
    await touch(file, modified);
  }
  for (const [seed, [name, landscape, width, height, taken]] of ALBUM.entries()) {
    const file = join(album, name);
    await writeFile(file, await drawLandscape(seed, landscape, width, height));
    await touch(file, taken);
  }
}

const touch = (file: string, time: string) => utimes(file, new Date(time), new Date(time));
