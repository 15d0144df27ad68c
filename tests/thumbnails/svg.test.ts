import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { isStoreError } from '../../src/model/error.ts';
import { allowAllFormats } from '../../src/thumbnails/draw.ts';
import { nameOfRendition, THUMBNAIL } from '../../src/thumbnails/renditions.ts';
import { until } from '../../testing/until.ts';
import { largePackedSvg } from './bombs.ts';
import { createGallery, drawnThumbnailOf, settled, temporaryFolder, thumbnailOf, thumbnailsOf } from './gallery.ts';
import { assertThumbnail, endlessSvg, plain, RED, svg, WHITE } from './images.ts';

// As in a drawing process.
allowAllFormats();

const image = (href: string) => `<image width="600" height="400" href="${href}" xlink:href="${href}"/>`;

function document(body: string, prologue = ''): Buffer {
  const namespaces = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:xi="http://www.w3.org/2001/XInclude"';
  return Buffer.concat([Buffer.from(prologue), svg(body, `${namespaces} width="600" height="400"`)]);
}

/** Asserts that the thumbnail contains no red. A rejected image has no colours either. */
async function assertBlank(source: Buffer): Promise<void> {
  try {
    await assertThumbnail(await drawnThumbnailOf(source), [160, 160, WHITE]);
  } catch (error) {
    if (!isStoreError(error, 'invalid-request')) throw error;
  }
}

test('draws an image embedded in an SVG', async () => {
  const png = await plain(RED).png().toBuffer();
  const contained = document(image(`data:image/png;base64,${png.toString('base64')}`));
  await assertThumbnail(await drawnThumbnailOf(contained), [160, 160, RED]);
});

test('prevents an SVG from reading files', async (t) => {
  const folder = await temporaryFolder(t);
  const png = join(folder, 'secret.png');
  const drawing = join(folder, 'secret.svg');
  const colour = join(folder, 'secret.txt');
  const css = join(folder, 'secret.css');
  const red = '<rect id="red" width="600" height="400" fill="red"/>';
  await writeFile(png, await plain(RED).png().toBuffer());
  await writeFile(drawing, svg(red));
  await writeFile(colour, 'red');
  await writeFile(css, 'rect { fill: red }');
  const images = [png, drawing].flatMap((name) =>
    [name, pathToFileURL(name).href, `../../../../../../../..${name}`].map(image),
  );
  const references = [
    ...images,
    `<use href="${pathToFileURL(drawing).href}#red"/>`,
    `<xi:include href="${pathToFileURL(drawing).href}"/>`,
  ];
  // All in one drawing in a process of its own, and each alone, because one of them can cause a rejection.
  await assertThumbnail(await thumbnailOf(t, document(references.join(''))), [160, 160, WHITE]);
  for (const reference of references) await assertBlank(document(reference));
  const white = '<rect width="600" height="400" fill="white"/>';
  const include = `<xi:include parse="text" href="${pathToFileURL(colour).href}"/>`;
  const styles = [
    `<style>rect { fill: ${include} }</style>`,
    `<style>@import url("${pathToFileURL(css).href}");</style>`,
  ];
  const stylesheet = `<?xml-stylesheet type="text/css" href="${pathToFileURL(css).href}"?>`;
  for (const style of styles) await assertBlank(document(style + white));
  await assertBlank(document(white, stylesheet));
  const entity = `<!DOCTYPE svg [<!ENTITY colour SYSTEM "${pathToFileURL(colour).href}">]>`;
  await assertBlank(document(`<style>rect { fill: &colour; }</style>${white}`, entity));
});

test('prevents an SVG from sending network requests', async (t) => {
  const requested: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    requested.push(request.url);
    response.end();
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  const origin = `http://127.0.0.1:${address.port}`;
  const entity = `<!DOCTYPE svg [<!ENTITY colour SYSTEM "${origin}/entity">]>`;
  const references = [
    image(`${origin}/image.png`),
    `<use href="${origin}/drawing.svg#red"/>`,
    `<style>@import url("${origin}/style.css");</style>`,
  ];
  const stylesheet = `<?xml-stylesheet type="text/css" href="${origin}/sheet.css"?>`;
  await assertThumbnail(await thumbnailOf(t, document(references.join(''), stylesheet)), [160, 160, WHITE]);
  for (const reference of references) await assertBlank(document(reference));
  await assertBlank(document('', stylesheet));
  await assertBlank(document('<text>&colour;</text>', entity));
  await assertBlank(document('', `<!DOCTYPE svg SYSTEM "${origin}/svg.dtd">`));
  assert.deepEqual(requested, []);
});

test('rejects an SVG with exponential entity expansion', async () => {
  const levels = Array.from({ length: 9 }, (_, level) => `<!ENTITY e${level + 1} "${`&e${level};`.repeat(10)}">`);
  const bomb = document('<text>&e9;</text>', `<!DOCTYPE svg [<!ENTITY e0 "ten bytes.">${levels.join('')}]>`);
  await assert.rejects(drawnThumbnailOf(bomb), { kind: 'invalid-request' });
});

const countProcesses = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;

/** Finds drawing processes: those that start from now on. Other files that share this process can have some until it ends. */
async function watchProcesses() {
  await settled();
  const before = countProcesses();
  return {
    hasProcess: () => countProcesses() > before,
    /** Node.js releases a process a moment after it has ended. */
    untilEnded: () => until('the drawing processes have ended', () => countProcesses() <= before),
  };
}

test('ends the drawing process of an SVG that takes too much CPU time, and remembers it', async (t) => {
  const { untilEnded } = await watchProcesses();
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1, cpuTimeMs: 1 });
  const drawing = gallery.put('endless.svg', endlessSvg());
  for (let time = 0; time < 2; time++) {
    const refused = { kind: 'too-large', message: /takes more than 0.001 seconds of CPU time/ };
    await assert.rejects(thumbnails.get(drawing), refused);
  }
  assert.equal(gallery.reads.length, 1);
  await thumbnails.close();
  await untilEnded();
});

test('kills the drawing process of an SVG when all its requests are cancelled', async (t) => {
  const { hasProcess, untilEnded } = await watchProcesses();
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 1, cpuTimeMs: 600_000 });
  const controller = new AbortController();
  const requested = thumbnails.get(gallery.put('endless.svg', endlessSvg()), { signal: controller.signal });
  await until('a drawing process runs', hasProcess);
  controller.abort(new Error('left'));
  await assert.rejects(requested, /left/);
  const next = gallery.put('red.svg', svg('<rect width="600" height="400" fill="rgb(200,40,40)"/>'));
  await assertThumbnail(await thumbnails.get(next), [160, 160, RED]);
  await untilEnded();
});

test('rejects an SVG that is too large after decompression', async (t) => {
  const refused = { kind: 'too-large', message: /larger than 52428800 bytes \(50 MB\) after decompression/ };
  await assert.rejects(thumbnailOf(t, largePackedSvg()), refused);
});

test('rejects an SVG that is compressed twice', async (t) => {
  const packed = gzipSync(gzipSync(document('')));
  await assert.rejects(thumbnailOf(t, packed), { kind: 'invalid-request', message: /is not a readable image/ });
});

/** Returns the IDs of this process's drawing processes, which only Linux provides. */
async function drawingProcesses(): Promise<string[]> {
  const children = (await readFile(`/proc/self/task/${process.pid}/children`, 'utf8')).trim().split(' ');
  const isDrawing = async (child: string) => {
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '');
    return command.includes('render-process-main');
  };
  const found = await Promise.all(
    children.filter(Boolean).map(async (child) => ((await isDrawing(child)) ? child : '')),
  );
  return found.filter(Boolean);
}

test('draws one SVG at a time, without environment variables, and closes while others are queued', async (t) => {
  if (process.platform !== 'linux') return t.skip('reads /proc, which only Linux has');
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { maxRenders: 4, maxChildProcesses: 1, cpuTimeMs: 600_000 });
  const requested = [0, 1, 2, 3].map((index) =>
    assert.rejects(thumbnails.get(gallery.put(`${index}.svg`, endlessSvg())), { kind: 'unavailable' }),
  );
  await until('the drawing process runs', async () => (await drawingProcesses()).length > 0);
  await settled();
  assert.equal(gallery.reads.length, 4, 'all were read');
  const [drawing, ...others] = await drawingProcesses();
  assert.deepEqual(others, []);
  // A drawing can't show its environment, so this test reads that of the process.
  assert.equal(await readFile(`/proc/${drawing}/environ`, 'utf8'), '');
  await thumbnails.close();
  assert.equal((await drawingProcesses()).length, 0);
  await Promise.all(requested);
});

test('asks for a retry and caches nothing when the drawing process is killed from outside', async (t) => {
  if (process.platform !== 'linux') return t.skip('reads /proc, which only Linux has');
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { cpuTimeMs: 600_000 });
  const file = gallery.put('drawing.svg', endlessSvg());
  for (let time = 0; time < 2; time++) {
    const refused = assert.rejects(thumbnails.get(file), {
      kind: 'unavailable',
      retryAfter: 5,
      message: /Try again/,
    });
    let child: string | undefined;
    await until('the drawing process runs', async () => {
      [child] = await drawingProcesses();
      return child !== undefined;
    });
    process.kill(Number(child), 'SIGKILL');
    await refused;
  }
  assert.equal(gallery.reads.length, 2);
});

test('ends a drawing process when its parent process exits', async () => {
  const script = join(import.meta.dirname, '../../src/thumbnails/render-process-main.ts');
  const figures = [endlessSvg().length, 1e9, 300, 1e10].map(String);
  const orphan = spawn(process.execPath, [script, nameOfRendition(THUMBNAIL), ...figures], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  orphan.stdin.end(endlessSvg());
  const [, signal] = await once(orphan, 'exit');
  assert.equal(signal, 'SIGKILL');
});
