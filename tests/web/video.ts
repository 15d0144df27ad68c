import { drawScene } from './samples.ts';

/** Returns a video that browsers can play and seek in: WebM with VP8 key frames, and an index. */
export async function video({
  seconds = 4,
  framesPerSecond = 10,
  width = 320,
  height = 180,
  minimumBytes = 0,
} = {}): Promise<Buffer> {
  const frames: Buffer[] = [];
  for (let at = 0; at < seconds * framesPerSecond; at++) {
    const scene = drawScene(5, width, height, at / (seconds * framesPerSecond));
    frames.push(vp8Of(await scene.webp({ quality: 60 }).toBuffer()));
  }
  const clusters = Array.from({ length: seconds }, (_, second) =>
    cluster(second, frames.slice(second * framesPerSecond, (second + 1) * framesPerSecond)),
  );
  const head = Buffer.concat([information(seconds), track(width, height)]);
  // The index contains the positions of the clusters behind it. Its length does not depend on them.
  const start = head.length + index(clusters, 0).length;
  const body = Buffer.concat([head, index(clusters, start), ...clusters]);
  const padding = Math.max(0, minimumBytes - body.length);
  return Buffer.concat([HEADER, element('18538067', body, element('ec', Buffer.alloc(padding)))]);
}

/** Returns the frame of a WebP without transparency: a key frame of VP8 (RFC 9649, section 2.5). */
function vp8Of(webp: Buffer): Buffer {
  if (webp.toString('latin1', 12, 16) !== 'VP8 ') throw new Error('The WebP contains more than one VP8 frame.');
  return webp.subarray(20, 20 + webp.readUInt32LE(16));
}

/** Returns an EBML element (RFC 8794): the ID in hexadecimal, the length of the content in eight bytes, the content. */
function element(id: string, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(content.length) | (1n << 56n));
  return Buffer.concat([Buffer.from(id, 'hex'), length, content]);
}

function integer(id: string, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return element(id, bytes);
}

function words(id: string, value: string): Buffer {
  return element(id, Buffer.from(value));
}

const HEADER = element(
  '1a45dfa3',
  integer('4286', 1),
  integer('42f7', 1),
  integer('42f2', 4),
  integer('42f3', 8),
  words('4282', 'webm'),
  integer('4287', 2),
  integer('4285', 2),
);

/** Info (RFC 9559, section 5.1.2). Times are in milliseconds. */
function information(seconds: number): Buffer {
  const duration = Buffer.alloc(8);
  duration.writeDoubleBE(seconds * 1000);
  const writer = [words('4d80', 'tests'), words('5741', 'tests')];
  return element('1549a966', integer('2ad7b1', 1_000_000), element('4489', duration), ...writer);
}

/** Tracks (section 5.1.4) with one track. */
function track(width: number, height: number): Buffer {
  const picture = element('e0', integer('b0', width), integer('ba', height));
  const entry = [integer('d7', 1), integer('73c5', 1), integer('83', 1), words('86', 'V_VP8'), picture];
  return element('1654ae6b', element('ae', ...entry));
}

/** Cues (section 5.1.5): the positions of the clusters in the segment, one per second. The first is at `start`. */
function index(clusters: readonly Buffer[], start: number): Buffer {
  let position = start;
  const points = clusters.map(({ length }, second) => {
    const target = element('b7', integer('f7', 1), integer('f1', position));
    position += length;
    return element('bb', integer('b3', second * 1000), target);
  });
  return element('1c53bb6b', ...points);
}

/** Cluster (section 5.1.3): the frames of one second. */
function cluster(second: number, frames: readonly Buffer[]): Buffer {
  const blocks = frames.map((frame, at) => {
    // Track 1, the milliseconds since the start of the cluster in two bytes, and the flag of a key frame.
    const head = Buffer.from([0x81, 0, 0, 0x80]);
    head.writeInt16BE(Math.round((at * 1000) / frames.length), 1);
    return element('a3', head, frame);
  });
  return element('1f43b675', integer('e7', second * 1000), ...blocks);
}
