import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { drawLandscape, type Landscape } from './landscape.ts';

const FJORD: Landscape = {
  sky: ['#3f79b8', '#8fb9dc', '#dfe9ee'],
  sun: { angle: -60, height: 35, colour: '#fff4e0' },
  ground: ['#4d6b35', '#7d786f'],
  relief: 0.9,
  forest: 0.6,
  snowLine: 0.62,
  water: 0.5,
  clouds: 0.45,
  haze: 0.25,
};
const DAWN: Landscape = {
  ...FJORD,
  sky: ['#5b7ea8', '#e8b88f', '#fbe3c0'],
  sun: { angle: 16, height: 7, colour: '#ffd29a' },
  ground: ['#55612f', '#736554'],
  relief: 0.7,
  water: 0,
  haze: 0.6,
};
const HIGHLAND: Landscape = {
  ...FJORD,
  sky: ['#5f8fbd', '#aecbdd', '#e6e8e2'],
  sun: { angle: 70, height: 30, colour: '#fff1d2' },
  ground: ['#7a7a3a', '#77705f'],
  relief: 0.6,
  forest: 0.12,
  water: 0,
  clouds: 0.6,
};
const SUNSET: Landscape = {
  ...FJORD,
  sky: ['#3a4472', '#c77a6a', '#f8c27a'],
  sun: { angle: 12, height: 5, colour: '#ffb56b' },
  ground: ['#3d4a2c', '#5e5048'],
  relief: 0.6,
  forest: 0.4,
  snowLine: 0.8,
  water: 0.4,
  haze: 0.5,
};
const SNOW: Landscape = {
  ...FJORD,
  sky: ['#2c66ad', '#7fb0de', '#e3eef6'],
  sun: { angle: 60, height: 38, colour: '#fff8ec' },
  ground: ['#6a7266', '#6f737a'],
  relief: 1,
  forest: 0,
  snowLine: -0.2,
  water: 0,
  clouds: 0.3,
  haze: 0.15,
};
const FOREST: Landscape = {
  ...FJORD,
  sky: ['#8aa7b5', '#c7d4d3', '#ecece2'],
  sun: { angle: -40, height: 34, colour: '#fff3da' },
  ground: ['#3f5f38', '#6d6a60'],
  relief: 0.55,
  forest: 0.9,
  snowLine: 1.5,
  water: 0,
  haze: 0.7,
};
const AUTUMN: Landscape = {
  ...FOREST,
  sky: ['#6f93b5', '#c3d2da', '#f2ead8'],
  sun: { angle: 50, height: 22, colour: '#ffe3b0' },
  ground: ['#a8682a', '#7a6a58'],
  forest: 0.75,
  water: 0.35,
  haze: 0.4,
};
const NIGHT: Landscape = {
  ...FJORD,
  sky: ['#0a1430', '#1f3a62', '#587d92'],
  sun: { angle: 14, height: 17, colour: '#b9cbe2' },
  ground: ['#26352c', '#3a4049'],
  clouds: 0.25,
};
const DUNES: Landscape = {
  ...FJORD,
  sky: ['#4b8fc9', '#9fcbe4', '#f0e3c8'],
  sun: { angle: -80, height: 20, colour: '#ffe0ac' },
  ground: ['#cdb27a', '#d0aa6c'],
  relief: 0.2,
  forest: 0,
  snowLine: 3,
  water: 0.45,
  clouds: 0.3,
};

/** The album of the pictures: name, landscape, width and height in pixels, and when it was taken. */
const ALBUM: readonly (readonly [name: string, Landscape, number, number, string])[] = [
  ['Arrival in Bergen.jpg', HIGHLAND, 3000, 2000, '2026-06-13T17:42:00'],
  ['Aurlandsfjord.jpg', FJORD, 3000, 2000, '2026-06-14T11:05:00'],
  ['Beach at Refviksanden.jpg', DUNES, 3000, 2000, '2026-06-19T15:20:00'],
  ['Breakfast view.jpg', { ...AUTUMN, clouds: 0.3 }, 3000, 2000, '2026-06-17T07:31:00'],
  ['Dawn over the plateau.jpg', DAWN, 3000, 2000, '2026-06-16T04:48:00'],
  ['Evening at the lake.jpg', SUNSET, 3000, 2000, '2026-06-16T22:31:00'],
  ['First snow field.jpg', SNOW, 3000, 2000, '2026-06-15T10:12:00'],
  [
    'Flåm valley.jpg',
    { ...FOREST, haze: 0.2, sky: ['#4f8fc8', '#a9cde2', '#eceee2'] },
    3000,
    2000,
    '2026-06-14T14:02:00',
  ],
  ['Forest above Flåm.jpg', FOREST, 2000, 3000, '2026-06-14T16:37:00'],
  ['Geirangerfjord.jpg', { ...FJORD, clouds: 0.7 }, 3000, 2000, '2026-06-18T12:58:00'],
  ['Jotunheimen.jpg', { ...SNOW, snowLine: 0.1 }, 3000, 2000, '2026-06-17T13:26:00'],
  ['Lighthouse coast.jpg', { ...SUNSET, relief: 0.3, clouds: 0.4 }, 3000, 2000, '2026-06-20T21:39:00'],
  ['Midnight.jpg', NIGHT, 3000, 2000, '2026-06-20T00:14:00'],
  [
    'Morning fog.jpg',
    { ...FOREST, sky: ['#aeb9bd', '#d2d7d4', '#e9e8e0'], clouds: 0.9, haze: 1 },
    3000,
    2000,
    '2026-06-18T06:55:00',
  ],
  ['Old trail.jpg', { ...HIGHLAND, ground: ['#8a6a34', '#776650'] }, 3000, 2000, '2026-06-17T09:40:00'],
  ['Pass road.jpg', { ...HIGHLAND, relief: 0.9, forest: 0.3 }, 3000, 2000, '2026-06-17T18:03:00'],
  [
    'Rain is coming.jpg',
    { ...HIGHLAND, sky: ['#56636f', '#8b979e', '#c3c8c6'], clouds: 1 },
    3000,
    2000,
    '2026-06-19T18:25:00',
  ],
  [
    'Sognefjord.jpg',
    { ...FJORD, sky: ['#7f97b0', '#c6d1d8', '#eef0ec'], haze: 0.6 },
    3000,
    2000,
    '2026-06-15T19:22:00',
  ],
  [
    'Summer night.jpg',
    { ...NIGHT, sky: ['#20375f', '#5f7f9f', '#d9b98f'], sun: { angle: 40, height: 4, colour: '#d8b48c' } },
    3000,
    2000,
    '2026-06-21T23:36:00',
  ],
  ['Trolltunga.jpg', { ...HIGHLAND, relief: 1, water: 0.5 }, 2000, 3000, '2026-06-21T14:11:00'],
  ['Way home.jpg', { ...SUNSET, sun: { angle: -16, height: 9, colour: '#ffc987' } }, 3000, 2000, '2026-06-22T21:50:00'],
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
    await writeFile(file, await drawLandscape(seed, landscape, { width, height, taken }));
    await touch(file, taken);
  }
}

const touch = (file: string, time: string) => utimes(file, new Date(time), new Date(time));
