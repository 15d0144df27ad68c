import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { allowAllFormats } from '../../src/thumbnails/draw.ts';
import { drawnThumbnailOf as drawn, thumbnailOf } from './gallery.ts';
import {
  assertThumbnail,
  BLUE,
  type Colour,
  GREEN,
  noise,
  plain,
  quarters,
  RED,
  svg,
  WHITE,
  YELLOW,
} from './images.ts';

// As in a drawing process, so that this process can draw and check images of all formats.
allowAllFormats();

const QUARTERS: [number, number, Colour][] = [
  [60, 60, RED],
  [260, 60, GREEN],
  [60, 260, BLUE],
  [260, 260, YELLOW],
];

const rgb = (colour: Colour) => `rgb(${colour.join()})`;
const quartersAsSvg = svg(
  [
    `<rect width="300" height="200" fill="${rgb(RED)}"/><rect x="300" width="300" height="200" fill="${rgb(GREEN)}"/>`,
    `<rect y="200" width="300" height="200" fill="${rgb(BLUE)}"/>`,
    `<rect x="300" y="200" width="300" height="200" fill="${rgb(YELLOW)}"/>`,
  ].join(''),
);

const lossless = { lossless: true } as const;
const formats: Record<string, () => Promise<Buffer> | Buffer> = {
  JPEG: () => quarters().jpeg().toBuffer(),
  'JPEG, progressive': () => quarters().jpeg({ progressive: true }).toBuffer(),
  PNG: () => quarters().png().toBuffer(),
  'PNG, interlaced': () => quarters().png({ progressive: true }).toBuffer(),
  'PNG, palette': () => quarters().png({ palette: true }).toBuffer(),
  'PNG, 16 bits': async () =>
    sharp(await quarters().png().toBuffer())
      .toColourspace('rgb16')
      .png()
      .toBuffer(),
  WebP: () => quarters().webp().toBuffer(),
  'WebP, lossless': () => quarters().webp(lossless).toBuffer(),
  GIF: () => quarters().gif().toBuffer(),
  AVIF: () => quarters().avif({ effort: 0 }).toBuffer(),
  'AVIF, 10 bits': () => quarters().avif({ effort: 0, bitdepth: 10 }).toBuffer(),
  TIFF: () => quarters().tiff().toBuffer(),
  'TIFF, deflate, tiles': () => quarters().tiff({ compression: 'deflate', tile: true }).toBuffer(),
  SVG: () => quartersAsSvg,
  'SVG with a prologue': () =>
    Buffer.concat([Buffer.from('<?xml version="1.0"?>\n<!-- quarters -->\n'), quartersAsSvg]),
};

for (const [format, make] of Object.entries(formats)) {
  test(`draws ${format}`, async () => assertThumbnail(await drawn(await make()), ...QUARTERS));
}

test('draws a compressed SVG, in a drawing process', async (t) => {
  await assertThumbnail(await thumbnailOf(t, gzipSync(quartersAsSvg)), ...QUARTERS);
});

test('detects a format by content instead of by name', async (t) => {
  await assertThumbnail(await thumbnailOf(t, await quarters().png().toBuffer(), 'quarters.txt'), ...QUARTERS);
  await assertThumbnail(await drawn(quartersAsSvg, 'quarters.jpg'), ...QUARTERS);
});

// Which quarter of the stored image each orientation shows at the top left, top right, bottom left and bottom right.
const orientations: Record<number, [Colour, Colour, Colour, Colour]> = {
  1: [RED, GREEN, BLUE, YELLOW],
  2: [GREEN, RED, YELLOW, BLUE],
  3: [YELLOW, BLUE, GREEN, RED],
  4: [BLUE, YELLOW, RED, GREEN],
  5: [RED, BLUE, GREEN, YELLOW],
  6: [BLUE, RED, YELLOW, GREEN],
  7: [YELLOW, GREEN, BLUE, RED],
  8: [GREEN, YELLOW, RED, BLUE],
};

for (const [orientation, [topLeft, topRight, bottomLeft, bottomRight]] of Object.entries(orientations)) {
  test(`rotates orientation ${orientation} upright`, async () => {
    const upright: [number, number, Colour][] = [
      [60, 60, topLeft],
      [260, 60, topRight],
      [60, 260, bottomLeft],
      [260, 260, bottomRight],
    ];
    const oriented = () => quarters(900, 600).withMetadata({ orientation: Number(orientation) });
    // The AVIF decoder applies the orientation itself. All other formats share one implementation, so one of them is
    // tested with all orientations.
    const others = orientation === '6' ? (['webp', 'png', 'tiff', 'avif'] as const) : [];
    for (const format of ['jpeg', ...others] as const) {
      const options = format === 'avif' ? { effort: 0 } : {};
      await assertThumbnail(await drawn(await oriented().toFormat(format, options).toBuffer()), ...upright);
    }
  });
}

test('draws transparency on a white background', async () => {
  const half: Colour = [227, 147, 147];
  const glass = { width: 600, height: 400, channels: 4, background: { r: 200, g: 40, b: 40, alpha: 0.5 } } as const;
  const clear = { ...glass, background: { r: 0, g: 0, b: 0, alpha: 0 } } as const;
  const png = await sharp({ create: glass }).png().toBuffer();
  const png16 = await sharp(png).toColourspace('rgb16').png().toBuffer();
  const webp = await sharp({ create: glass }).webp(lossless).toBuffer();
  for (const image of [png, png16, webp]) await assertThumbnail(await drawn(image), [160, 160, half]);
  await assertThumbnail(await drawn(await sharp({ create: clear }).gif().toBuffer()), [160, 160, WHITE]);
  await assertThumbnail(await drawn(await sharp({ create: clear }).avif().toBuffer()), [160, 160, WHITE]);
  await assertThumbnail(await drawn(svg('')), [160, 160, WHITE]);
});

test('draws the first frame of an animation', async () => {
  const frames = await Promise.all([RED, GREEN, BLUE].map((colour) => plain(colour).png().toBuffer()));
  const animation = () => sharp(frames, { join: { animated: true } });
  const images = [await animation().gif().toBuffer(), await animation().webp().toBuffer()];
  for (const image of images) {
    assert.equal((await sharp(image).metadata()).pages, 3);
    await assertThumbnail(await drawn(image), [160, 10, RED], [160, 310, RED]);
  }
});

test('converts CMYK to sRGB', async () => {
  // CMYK does not contain every colour. This one survives the conversion in both directions.
  const clay: Colour = [170, 140, 130];
  const cmyk = () => plain(clay).toColourspace('cmyk');
  const withProfile = () => plain(clay).withIccProfile('cmyk').toColourspace('cmyk');
  const makers = [() => cmyk().jpeg().toBuffer(), () => withProfile().tiff().toBuffer()];
  for (const make of makers) {
    const image = await make();
    assert.equal((await sharp(image).metadata()).space, 'cmyk');
    await assertThumbnail(await drawn(image), [160, 160, clay]);
  }
});

test('converts wide-gamut profiles to sRGB', async () => {
  const images = [
    await plain(RED).withIccProfile('p3').jpeg().toBuffer(),
    await plain(RED).withIccProfile('p3').png().toBuffer(),
    await sharp(await plain(RED).png().toBuffer())
      .toColourspace('rgb16')
      .withIccProfile('p3')
      .png()
      .toBuffer(),
    await plain(RED).withIccProfile('p3').avif({ bitdepth: 10 }).toBuffer(),
  ];
  for (const image of images) {
    const stored = await sharp(image).metadata();
    assert.equal(stored.hasProfile, true, 'the source has a profile');
    await assertThumbnail(await drawn(image), [160, 160, RED]);
  }
});

test('draws greyscale images', async () => {
  for (const space of ['b-w', 'grey16']) {
    const image = await plain([90, 90, 90]).toColourspace(space).png().toBuffer();
    assert.equal((await sharp(image).metadata()).channels, 1);
    await assertThumbnail(await drawn(image), [160, 160, [90, 90, 90]]);
  }
});

test('fills the square for images of any aspect ratio', async () => {
  const shapes: readonly (readonly [number, number])[] = [
    [1, 1],
    [20_000, 1],
    [1, 20_000],
    [10_000_000, 1],
    [3, 50_000],
    [16_000, 400],
  ];
  for (const [width, height] of shapes) {
    const image = await plain(RED, width, height).png().toBuffer();
    await assertThumbnail(await drawn(image), [2, 2, RED], [317, 317, RED]);
  }
  const strip = svg(`<rect width="10000" height="10" fill="${rgb(RED)}"/>`, 'width="10000" height="10"');
  await assertThumbnail(await drawn(strip), [2, 2, RED], [317, 317, RED]);
});

test('crops to the centre', async () => {
  // Five squares wide; the one in the middle is green. The second image is processed as a sliver.
  const stripes = (count: number) => {
    const squares = Array.from({ length: count }, (_, index) => (index === (count - 1) / 2 ? GREEN : RED));
    return sharp(Buffer.from(squares.flat()), { raw: { width: count, height: 1, channels: 3 } });
  };
  const wide = await stripes(5).resize(2000, 400, { kernel: 'nearest', fit: 'fill' }).png().toBuffer();
  const sliver = await stripes(301)
    .resize(301 * 20, 20, { kernel: 'nearest', fit: 'fill' })
    .png()
    .toBuffer();
  const upright = await sharp(sliver).rotate(90).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  for (const image of [wide, sliver, upright]) {
    await assertThumbnail(await drawn(image), [40, 160, GREEN], [280, 160, GREEN]);
  }
});

test('draws a small SVG without blur', async () => {
  const icon = svg('<rect width="12" height="24"/>', 'width="24" height="24"');
  const pixels = await sharp(await drawn(icon))
    .extractChannel(0)
    .raw()
    .toBuffer();
  const [before, after] = [pixels[160 * 320 + 156] ?? NaN, pixels[160 * 320 + 164] ?? NaN];
  assert.ok(before < 30 && after > 225, `the edge goes from ${before} to ${after} within 8 pixels`);
});

test('strips all metadata', async (t) => {
  const place = { GPSLatitudeRef: 'N', GPSLatitude: '52/1 30/1 0/1' };
  const photograph = await noise(1)
    .withExif({ IFD0: { Copyright: 'Somebody', Artist: 'Somebody' }, IFD3: place })
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>Somebody</a></x:xmpmeta>')
    .jpeg()
    .toBuffer();
  assert.ok((await sharp(photograph).metadata()).exif);
  const thumbnail = await thumbnailOf(t, photograph);
  const { exif, xmp, iptc, icc, comments } = await sharp(thumbnail).metadata();
  assert.deepEqual([exif, xmp, iptc, icc, comments], [undefined, undefined, undefined, undefined, undefined]);
  for (const text of ['Exif', 'GPS', 'Somebody', 'xmp']) assert.ok(!thumbnail.includes(text), text);
});

test('does not decode a large JPEG in full', async (t) => {
  // Stripes around a mean. With larger factors for everything except the mean, their extremes exceed black and white: a
  // full decoder clips them, which changes the mean. At an eighth of the size, only the mean counts.
  const side = 2800;
  const stripes = Buffer.alloc(side * side, Buffer.of(250, 190));
  const raw = { width: side, height: side, channels: 1 } as const;
  const image = await sharp(stripes, { raw }).toColourspace('b-w').jpeg({ quality: 90 }).toBuffer();
  const factors = image.indexOf(Buffer.from([0xff, 0xdb])) + 5;
  for (let index = 1; index < 64; index++) {
    image[factors + index] = Math.min(255, 6 * (image[factors + index] ?? 0));
  }
  const { channels } = await sharp(image).stats();
  assert.ok((channels[0]?.mean ?? 0) < 170, `a mean of ${channels[0]?.mean} in full`);
  await assertThumbnail(await thumbnailOf(t, image), [160, 160, [220, 220, 220]]);
});
