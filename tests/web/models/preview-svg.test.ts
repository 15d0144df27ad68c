import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { examineSvg } from '../../../web/src/features/viewer/image/examine-svg.ts';
import { isLightSvg } from '../../../web/src/features/viewer/image/svg-cost.ts';
import { NESTED_SVG } from '../samples.ts';

/** A drawing with the usual constructs of drawing programs. */
const DRAWING = `
  <style><![CDATA[ .a { fill: url(#gradient); clip-path: url(#clip) } #b { stroke: #336699 } ]]></style>
  <defs>
    <linearGradient id="gradient"><stop offset="0"/><stop offset="1"/></linearGradient>
    <clipPath id="clip"><path d="M0 0h9v9z"/></clipPath>
    <filter id="shadow"><feGaussianBlur stdDeviation="2"/><feOffset dy="1"/></filter>
    <symbol id="icon"><path d="M0 0h9"/><path d="M0 0v9"/></symbol>
  </defs>
  <g filter="url(#shadow)">${'<use href="#icon" class="a"/><rect stroke="#fff"/>'.repeat(100)}</g>`;

describe('An SVG is drawn without asking', () => {
  for (const [title, body] of [
    ['a drawing with a gradient, a clip path, a filter and a reused shape', DRAWING],
    ['thousands of shapes', '<circle cx="1" cy="2" r="3" fill="#fff"/>'.repeat(10_000)],
    ['a raster image', '<image href="data:image/png;base64,iVBORw0KGgo="/>'],
  ] as const) {
    it(`if it contains ${title}`, () => assert.equal(isLightSvg(svg(body)), true));
  }
});

describe('An SVG is not drawn without asking', () => {
  it('if it nests references', () => assert.equal(isLightSvg(NESTED_SVG), false));

  const nested = NESTED_SVG.slice(NESTED_SVG.indexOf('<defs>'), -'</svg>'.length);
  for (const [title, body] of [
    ['more shapes than browsers draw quickly', '<circle r="3" fill-opacity=".5"/>'.repeat(100_000)],
    ['long paths', `<path d="${'L1 2 '.repeat(1e6)}"/>`],
    ['references with escaped characters', nested.replaceAll('#g', '&#35;%67')],
    ['references by another prefix', nested.replaceAll('xlink:href="#', 'x:href="drawing.svg#')],
    ['patterns that contain patterns', chain((id, inner) => `<pattern id="${id}">${rects(inner)}</pattern>`)],
    [
      'patterns that descendants inherit',
      chain((id, inner) => `<g fill="url('#${inner}')"><pattern id="${id}">${'<rect/>'.repeat(10)}</pattern></g>`),
    ],
    [
      'markers on long lines',
      `<marker id="m">${'<path/>'.repeat(50)}</marker><path marker-mid="url(#m)" d="${'L1 2'.repeat(300)}"/>`,
    ],
    [
      'expensive styles',
      `<style>path { mask: ur<!-- -->l(#m) }</style><mask id="m">${'<path/>'.repeat(100)}</mask>${'<path/>'.repeat(500)}`,
    ],
    ['CSS escapes', String.raw`<path style="fill: url(\23 p)"/>`],
    ['another SVG', '<image href="data:image/svg+xml,%3Csvg/%3E"/>'],
    ['references in a circle', '<g id="a"><use href="#a"/></g>'],
    ['noise', '<filter><feTurbulence numOctaves="200"/></filter>'],
    ['hundreds of filters', `<filter id="f"><feGaussianBlur/></filter>${'<path filter="url(#f)"/>'.repeat(500)}`],
  ] as const) {
    it(`if it contains ${title}`, () => assert.equal(isLightSvg(svg(body)), false));
  }

  for (const [title, start] of [
    ['entities', '<!DOCTYPE svg [<!ENTITY a "aaaa">]>'],
    ['a style sheet of XSLT', '<?xml-stylesheet href="#x"?>'],
    ['an encoding that hides tags', '<?xml version="1.0" encoding="iso-2022-jp"?>'],
  ] as const) {
    it(`if it has ${title}`, () => assert.equal(isLightSvg(start + svg('')), false));
  }
});

function svg(body: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100">${body}</svg>`;
}

function rects(pattern: string): string {
  return `<rect fill="url(#${pattern})"/>`.repeat(10);
}

/** Returns eight levels, each of which draws the one before. */
function chain(level: (id: string, inner: string) => string): string {
  return Array.from({ length: 8 }, (_, index) => level(`p${index + 1}`, `p${index}`)).join('') + rects('p8');
}

describe('The bytes of an SVG', () => {
  const plain = Buffer.from(svg('<rect/>'));
  const zipped = gzipSync(plain);

  it('are decompressed, up to a limit', async () => {
    assert.deepEqual(await examineSvg(plain), { bytes: plain, isLight: true });
    const examined = await examineSvg(zipped, plain.length);
    assert.deepEqual([Buffer.from(examined?.bytes ?? []), examined?.isLight], [plain, true]);
    assert.equal(await examineSvg(zipped, plain.length - 1), undefined);
    assert.equal(await examineSvg(gzipSync(Buffer.alloc(1e8))), undefined);
    assert.equal((await examineSvg(gzipSync(NESTED_SVG)))?.isLight, false);
  });

  it('are not shown if they are damaged', async () => {
    assert.equal(await examineSvg(zipped.subarray(0, -10)), undefined);
    assert.equal(await examineSvg(Buffer.from([0x1f, 0x8b, 1, 2, 3])), undefined);
  });
});
