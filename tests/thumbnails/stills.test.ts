import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import sharp from 'sharp';
import type { FileEntry } from '../../src/model/store.ts';
import { findPrograms } from '../../src/thumbnails/find-programs.ts';
import type { Rendition } from '../../src/thumbnails/renditions.ts';
import { type SandboxedCommand, sandboxed } from '../../src/thumbnails/sandbox.ts';
import { deniedCalls } from '../../src/thumbnails/system-call-filter.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { createGallery, type Gallery, temporaryFolder, thumbnailsOf } from './gallery.ts';
import { withRotation } from './heic.ts';
import { assertThumbnail, BLUE, RED } from './images.ts';
import { onePage } from './pdf.ts';

export const needs: readonly Need[] = ['stills'];

const run = promisify(execFile);

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdall-videos-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Creates a video of one colour. The extension determines the format. */
async function video(name: string, options: readonly string[] = [], seconds = 3): Promise<Buffer> {
  const path = join(folder, name);
  const source = `color=c=0xC82828:s=320x180:r=10:d=${seconds}`;
  await run('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', source, '-pix_fmt', 'yuv420p', ...options, path]);
  return readFile(path);
}

const put = (gallery: Gallery, path: string, bytes: Buffer, type = 'video/mp4'): FileEntry => ({
  ...gallery.put(path, bytes),
  type,
});

const STILLS = { stills: ['video', 'pdf', 'heic'] } as const;
const PREVIEW: Rendition = { kind: 'preview', width: 320, format: 'webp' };

/** What killed services left. */
const LEFT_BEFORE: ReadonlySet<string> = new Set(readdirSync(tmpdir()));

/** Returns the remaining input files of programs. */
const leftInputs = () =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('holdall-still-') && !LEFT_BEFORE.has(name));

test('finds the programs and starts their sandbox', async () => {
  const { protection, ...found } = await findPrograms();
  assert.deepEqual(found, { kinds: ['video', 'pdf', 'heic'], missing: [] });
  assert.equal(protection?.filtersCalls, true);
});

test('draws a frame of a video, upright and with square pixels, once for all renditions', async (t) => {
  const gallery = createGallery();
  const options = { ...STILLS, cacheFolder: await temporaryFolder(t), cacheSize: 2 ** 20 };
  const thumbnails = thumbnailsOf(t, gallery, options);
  const file = put(gallery, 'film.mp4', await video('film.mp4', ['-vf', 'setsar=1/2']));
  await assertThumbnail(await thumbnails.get(file), [160, 160, RED], [10, 10, RED]);
  const { width, height } = await sharp(await thumbnails.get(file, { rendition: PREVIEW })).metadata();
  assert.deepEqual([width, height], [160, 180]);
  assert.deepEqual(gallery.reads, ['film.mp4']);
  assert.deepEqual(leftInputs(), []);
});

test('draws HEIC images, and ignores the orientation in their EXIF as HEIF prescribes', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, STILLS);
  const photo = join(folder, 'photo.jpg');
  const image = sharp({ create: { width: 640, height: 320, channels: 3, background: '#c82828' } });
  await image.jpeg().withMetadata({ orientation: 6 }).toFile(photo);
  await run('heif-enc', ['-q', '80', photo, '-o', join(folder, 'photo.heic')]);
  const heic = await readFile(join(folder, 'photo.heic'));
  for (const type of ['image/heic', 'image/heif', 'application/octet-stream']) {
    const file = put(gallery, `${type.replace('/', ' ')}.heic`, heic, type);
    await assertThumbnail(await thumbnails.get(file), [160, 160, RED]);
    const preview: Buffer = await thumbnails.get(file, { rendition: PREVIEW });
    const drawn = await sharp(preview).metadata();
    assert.deepEqual([drawn.width, drawn.height], [320, 160]);
  }
  // A camera writes the rotation both as a property of the image and in its EXIF: it is applied once.
  const rotated = put(gallery, 'rotated.hif', withRotation(heic), 'application/octet-stream');
  const upright = await sharp(await thumbnails.get(rotated, { rendition: PREVIEW })).metadata();
  assert.deepEqual([upright.width, upright.height, upright.orientation], [320, 640, undefined]);
  const cut = put(gallery, 'cut.heic', heic.subarray(0, heic.length / 2), 'image/heic');
  await assert.rejects(thumbnails.get(cut), { code: 'unsupported-image' });
  const without = thumbnailsOf(t, gallery, { stills: ['video'] });
  await assert.rejects(without.get(put(gallery, 'b.heic', heic, 'image/heic')), { code: 'unsupported-image' });
  assert.deepEqual(leftInputs(), []);
});

test('draws short videos and other containers', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, STILLS);
  const short = put(gallery, 'short.mp4', await video('short.mp4', [], 0.3));
  await assertThumbnail(await thumbnails.get(short), [160, 160, RED]);
  const webm = await video('film.webm', ['-c:v', 'libvpx', '-cpu-used', '8', '-deadline', 'realtime']);
  const film = put(gallery, 'film.webm', webm, 'application/octet-stream');
  await assertThumbnail(await thumbnails.get(film), [160, 160, RED]);
});

test('reads only the head and the tail of a large video, whose index is at the end', async (t) => {
  const gallery = createGallery();
  const film = await video('index.mp4');
  // The free space between the content and the index stands for the content of a long video.
  const index = film.lastIndexOf('moov') - 4;
  const free = Buffer.alloc(40 * 2 ** 20);
  free.writeUInt32BE(free.length, 0);
  free.write('free', 4);
  const file = put(gallery, 'large.mp4', Buffer.concat([film.subarray(0, index), free, film.subarray(index)]));
  let bytes = 0;
  const counting: Gallery = {
    ...gallery,
    files: {
      async read(path, options) {
        const { range } = options ?? {};
        assert.ok(range && 'start' in range && range.end !== undefined);
        const content = await gallery.files.read(path, options);
        const chunks = await content.body.toArray();
        const part = Buffer.concat(chunks).subarray(range.start, range.end + 1);
        bytes += part.length;
        return { ...content, bytes: part };
      },
    },
  };
  await assertThumbnail(await thumbnailsOf(t, counting, STILLS).get(file), [160, 160, RED]);
  assert.equal(bytes, 24 * 2 ** 20);
});

test('draws the first page of a PDF', async (t) => {
  const gallery = createGallery();
  const file = put(gallery, 'page.pdf', onePage('0.157 0.235 0.784 rg 0 0 300 400 re f'), 'application/pdf');
  await assertThumbnail(await thumbnailsOf(t, gallery, STILLS).get(file), [160, 160, BLUE]);
});

test('rejects files that the programs can not read, and remembers it', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, STILLS);
  const film = await video('film2.mp4');
  const files = [
    put(gallery, 'text.mp4', Buffer.from('just text')),
    put(gallery, 'truncated.mp4', film.subarray(0, film.length / 2)),
    put(gallery, 'text.pdf', Buffer.from('%PDF-1.7\njust text'), 'application/pdf'),
  ];
  for (const file of [...files, ...files]) {
    await assert.rejects(thumbnails.get(file), { code: 'unsupported-image', message: /No picture of the file/ });
  }
  assert.equal(gallery.reads.length, files.length);
  assert.deepEqual(leftInputs(), []);
});

test('reads neither files nor URLs that a playlist names', async (t) => {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end(film);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const film = await video('secret.mp4');
  const secret = join(folder, 'secret.mp4');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4`;
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, STILLS);
  for (const target of [url, secret]) {
    const playlists = [
      `#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n${target}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile '${target}'\n`,
      `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><BaseURL>${target}</BaseURL></Period></MPD>`,
    ];
    for (const [index, playlist] of playlists.entries()) {
      const file = put(gallery, `list ${index} ${target.replaceAll('/', '-')}.mp4`, Buffer.from(playlist));
      await assert.rejects(thumbnails.get(file), { code: 'unsupported-image' });
    }
  }
  assert.deepEqual(requests, []);
});

/** A page that takes seconds to draw. */
const slowPage = () => onePage(`40 w 0 0 m ${'300 400 0 400 300 0 c 0 0 300 0 0 400 c '.repeat(30_000)} S`);

test('ends a program that takes too much CPU time, and remembers it', async (t) => {
  const gallery = createGallery();
  const thumbnails = thumbnailsOf(t, gallery, { ...STILLS, cpuTimeMs: 1 });
  const file = put(gallery, 'slow.pdf', slowPage(), 'application/pdf');
  for (let time = 0; time < 2; time++) await assert.rejects(thumbnails.get(file), { code: 'image-too-complex' });
  assert.equal(gallery.reads.length, 1);
  assert.deepEqual(leftInputs(), []);
});

/** Sends a signal to the program in the sandbox as soon as it runs. */
async function interrupt(signal: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
  const childrenOf = async (pid: number | string): Promise<string[]> => {
    const list = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    const children = list.split(' ').filter(Boolean);
    return [...children, ...(await Promise.all(children.map(childrenOf))).flat()];
  };
  await until('the program runs', async () => {
    for (const pid of await childrenOf(process.pid)) {
      if ((await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() !== 'pdftoppm') continue;
      process.kill(Number(pid), signal);
      return true;
    }
    return false;
  });
}

test('asks for a retry, and remembers nothing, if the machine does not let a program finish', async (t) => {
  const gallery = createGallery();
  const file = put(gallery, 'slow.pdf', slowPage(), 'application/pdf');
  const failed = { code: 'thumbnail-failed', kind: 'unavailable', retryAfter: 5 };
  const thumbnails = thumbnailsOf(t, gallery, { ...STILLS, deadlineMs: 2_000 });
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    const rejected = assert.rejects(thumbnails.get(file), failed);
    await interrupt(signal);
    await rejected;
  }
  assert.equal(gallery.reads.length, 2);
  assert.deepEqual(leftInputs(), []);
});

test('asks for a retry if the file does not arrive as a whole', async (t) => {
  const gallery = createGallery();
  const page = put(gallery, 'page.pdf', onePage(''), 'application/pdf');

  const longer = { ...page, size: page.size + 1 };
  await assert.rejects(thumbnailsOf(t, gallery, STILLS).get(longer), { code: 'store-busy', retryAfter: 1 });
});

test('ends a program when no request waits', async (t) => {
  const gallery = createGallery();
  const file = put(gallery, 'film.mp4', await video('film3.mp4'));
  const thumbnails = thumbnailsOf(t, gallery, STILLS);
  const controller = new AbortController();
  const left = thumbnails.get(file, { signal: controller.signal });
  setImmediate(() => controller.abort(new Error('left')));
  await assert.rejects(left, /left/);
  await thumbnails.close();
  assert.deepEqual(leftInputs(), []);
});

/** Runs a command with a secret in its environment. */
function runSandboxed({ file, args, stdin }: SandboxedCommand) {
  const running = run(file, args, { env: { SECRET: 'secret' } });
  running.child.stdin?.end(stdin);
  return running;
}

/** Makes a system call with the arguments, and prints the number of its error, or 0. */
const CALL =
  'use Errno; for (@ARGV) { my ($n, @a) = map { $_ + 0 } split /,/; $! = 0; syscall($n, @a); print $! + 0, "\\n" }';

const ERRNO = { EPERM: 1, ENOSYS: 38 } as const;
const NEW_USER = 0x1000_0000;

test('denies programs the system calls that decoders do not need', async () => {
  const input = join(folder, 'input');
  await writeFile(input, '');
  const limits = { input, memoryBytes: 2 ** 30, seconds: 10 };
  const errorsOf = async (calls: readonly string[], options = {}) => {
    const command = sandboxed(['perl', '-e', CALL, ...calls], { ...limits, ...options });
    return (await runSandboxed(command)).stdout.trim().split('\n').map(Number);
  };
  const denied = [...deniedCalls()];
  const errors = await errorsOf(denied.map(([, number]) => `${number},0,0,0,0,0,0`));
  assert.deepEqual(
    denied.map(([name], index) => [name, errors[index]]),
    denied.map(([name]) => [name, ERRNO.EPERM]),
  );
  const [clone, clone3] = process.arch === 'arm64' ? [220, 435] : [56, 435];
  assert.deepEqual(await errorsOf([`${clone},${NEW_USER},0`, `${clone3},0,0`]), [ERRNO.EPERM, ERRNO.ENOSYS]);
  // Without the filter, some of them succeed, so that the filter is what denies them.
  const unfiltered = { protection: { filtersCalls: false, forbidsNamespaces: false } };
  const numberOf = (name: string) => denied.find(([each]) => each === name)?.[1];
  const open = [`${numberOf('socket')},2,1,0`, `${numberOf('unshare')},${NEW_USER}`, `${numberOf('personality')},0`];
  assert.deepEqual(await errorsOf(open, unfiltered), [0, 0, 0]);
});

test('forbids nested user namespaces also without the filter, where bubblewrap can', async (t) => {
  const { protection } = await findPrograms();
  if (!protection?.forbidsNamespaces) return t.skip('bubblewrap is older than 0.8, or must not do it');
  const input = join(folder, 'input');
  await writeFile(input, '');
  const options = { input, memoryBytes: 2 ** 30, seconds: 10, protection: { ...protection, filtersCalls: false } };
  await assert.rejects(runSandboxed(sandboxed(['unshare', '--user', 'true'], options)), /No space left on device/);
});

test('runs programs without network, environment, other files and other processes, within limits', async () => {
  const input = join(folder, 'input');
  await writeFile(input, 'the input');
  const inSandbox = (script: string) => {
    return runSandboxed(sandboxed(['sh', '-c', script], { input, memoryBytes: 2 ** 30, seconds: 10 }));
  };
  const { stdout } = await inSandbox('cat /input; echo; ls /; prlimit --noheadings --output RESOURCE,SOFT,HARD');
  const lines = stdout.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' '));
  assert.equal(lines[0], 'the input');
  const roots = ['dev', 'etc', 'input', 'lib', 'lib64', 'usr'];
  assert.deepEqual(
    lines.filter((line) => roots.includes(line) || ['home', 'root', 'tmp', 'proc', 'var', 'run'].includes(line)),
    roots,
  );
  for (const limit of ['AS 1073741824 1073741824', 'CPU 10 11', 'FSIZE 0 0', 'CORE 0 0', 'NOFILE 64 64']) {
    assert.ok(lines.includes(limit), limit);
  }
  assert.doesNotMatch((await inSandbox('env')).stdout, /secret/);
  for (const script of [
    'cat /etc/passwd',
    'echo x > /input',
    'echo x > /usr/x',
    'echo x > /x',
    'echo x > /dev/x',
    'ls /proc/1',
  ]) {
    await assert.rejects(inSandbox(script), script);
  }
  const connect = 'exec 3<>/dev/tcp/127.0.0.1/80';
  await assert.rejects(inSandbox(`bash -c '${connect}'`), /Operation not permitted/);
});
