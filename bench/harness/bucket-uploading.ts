import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BucketStage } from './bucket-stage.ts';
import type { Comparison, Contender, Measured } from './comparison.ts';
import { timedSample } from './comparison.ts';
import type { PartOrder } from './curl.ts';
import { uploadForm } from './curl.ts';
import { formatMegabytes } from './figures.ts';
import { measureProgram, measureServer } from './measure.ts';
import type { Command } from './processes.ts';
import { idleAfterWarmUp, peakDuring } from './resident-memory.ts';
import { startServer } from './servers.ts';
import type { Column } from './table.ts';
import { formatTable } from './table.ts';

/** Storing 1 GiB in the bucket: by upload to the service, and by rclone with as many parts in flight. */
export function bucketUploadComparison(stage: BucketStage): Comparison {
  const checksum = 'reads the file twice: once for its MD5';
  const stored = `bucket:${incoming}${basename(stage.uploadFile)}`;
  const copy = ['copyto', stage.uploadFile, stored, ...rcloneUploadFlags];
  return {
    id: 'upload-1GiB',
    title: 'Upload 1 GiB',
    unit: 'seconds',
    reference: 'rclone rcat',
    programs: ['curl'],
    contenders: [
      formContender('prefix first', stage),
      formContender('file first', stage),
      rcloneContender('rclone copyto', stage.rclone(copy), checksum, stage),
      rcloneContender(
        'rclone copyto, no MD5',
        stage.rclone([...copy, '--s3-disable-checksum']),
        '--s3-disable-checksum',
        stage,
      ),
      rcloneContender(
        'rclone rcat',
        readingFrom(stage.uploadFile, stage.rclone(['rcat', stored, ...rcloneUploadFlags])),
        'from standard input',
        stage,
      ),
    ],
  };
}

/** Four parts of 8 MiB in flight. */
export const rcloneUploadFlags = ['--s3-upload-concurrency', '4', '--s3-chunk-size', '8M'];

/** The aim: so many bytes above idle, at most. */
const aim = 120e6;

/** The resident memory of the service's uploads as a Markdown table: the round that took the most above idle. */
export function formatResidentMemory(measured: readonly Measured[]): string {
  const headings = ['idle', 'peak', 'above idle', `aim: ${formatMegabytes(aim)}`];
  const columns = headings.map((heading): Column => ({ heading, align: 'right' }));
  const rows = measured.flatMap(({ name, samples }) => {
    const [worst] = samples
      .flatMap(({ residentMemory }) => residentMemory ?? [])
      .toSorted((one, other) => other.peak - other.idle - (one.peak - one.idle));
    if (!worst) return [];
    const above = worst.peak - worst.idle;
    return [[name, ...[worst.idle, worst.peak, above].map(formatMegabytes), above <= aim ? 'within' : 'over']];
  });
  if (rows.length === 0) return '';
  return `### Memory of one process while 1 GiB passes, in MB\n\n${formatTable([{ heading: 'program', align: 'left' }, ...columns], rows)}`;
}

const incoming = 'incoming/';

/** One process, so that its memory is that of one upload; more would not take part in one. */
function formContender(order: PartOrder, stage: BucketStage): Contender {
  return {
    name: `holdall, ${order}`,
    family: 'holdall',
    measure: async (signal) => {
      await using running = await startServer(stage.holdall(1), stage.newSite(), signal);
      const idle = await idleAfterWarmUp(running, { file: stage.smallFile, prefix: incoming, order }, signal);
      const form = { base: running.url('/'), file: stage.uploadFile, prefix: incoming, order };
      const [peak, [, cost]] = await peakDuring(running, () =>
        stage.bucket.store.metered(() => measureServer(running.pid, () => uploadForm(form, signal))),
      );
      await checkStored(stage, signal);
      return { ...timedSample(cost, 'multipart form from curl'), residentMemory: { idle, peak } };
    },
  };
}

function rcloneContender(name: string, command: Command, remark: string, stage: BucketStage): Contender {
  return {
    name,
    family: 'rclone',
    program: 'rclone',
    measure: async (signal) => {
      const [, cost] = await stage.bucket.store.metered(async () => {
        return [undefined, await measureProgram(command, signal)];
      });
      await checkStored(stage, signal);
      return timedSample(cost, remark);
    },
  };
}

/** The command with this file as its standard input. */
function readingFrom(file: string, command: Command): Command {
  return { ...command, file: 'sh', args: ['-c', 'exec "$@" < "$0"', file, command.file, ...command.args] };
}

/** Rejects unless what was stored is what was sent; then makes room for the next. */
async function checkStored({ bucket, uploadFile }: BucketStage, signal: AbortSignal): Promise<void> {
  const key = `${incoming}${basename(uploadFile)}`;
  const [sent, stored] = await Promise.all([
    digest(createReadStream(uploadFile)),
    digest(await bucket.read(key, signal)),
  ]);
  if (!stored.equals(sent)) throw new Error(`${key} is not what was sent`);
  await bucket.clear(incoming, signal);
}

async function digest(content: Readable): Promise<Buffer> {
  const hash = createHash('sha256');
  await pipeline(content, hash);
  return hash.digest();
}
