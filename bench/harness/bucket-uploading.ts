import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from '../../testing/processes.ts';
import type { BucketStage } from './bucket-stage.ts';
import type { Comparison, Contender } from './comparison.ts';
import { timedSample } from './comparison.ts';
import { uploadForm } from './curl.ts';
import { measureProgram, measureServer } from './measure.ts';
import { measureIdleMemory, peakDuring, warmUp } from './resident-memory.ts';
import { startServer } from './servers.ts';

/** Compares storing 1 GiB in the bucket: an upload to the service, and rclone with the bytes on standard input. */
export function bucketUploadComparison(stage: BucketStage): Comparison {
  return {
    id: 'upload-1GiB',
    title: 'Upload 1 GiB',
    unit: 'seconds',
    reference: rcloneName,
    programs: ['curl'],
    contenders: [serviceContender(stage), rcloneContender(stage)],
  };
}

const rcloneName = 'rclone rcat';

/** Four concurrent parts of 8 MiB, as in the service. */
const rcloneFlags = ['--s3-upload-concurrency', '4', '--s3-chunk-size', '8M'];

const incoming = 'incoming/';

/** One process, so that its memory is that of one upload, which uses only one process. */
function serviceContender(stage: BucketStage): Contender {
  return {
    name: 'holdall',
    measure: async (signal) => {
      await using running = await startServer(stage.holdall(1), stage.newSite(), signal);
      const form = { prefix: incoming, order: 'prefix first' } as const;
      await warmUp(running, { ...form, file: stage.smallFile }, signal);
      const idle = await measureIdleMemory(running, signal);
      const upload = () => uploadForm({ ...form, base: running.url('/'), file: stage.uploadFile }, signal);
      const [peak, [, cost]] = await peakDuring(running, () =>
        stage.bucket.store.metered(() => measureServer(running.pid, upload)),
      );
      await checkStored(stage, signal);
      return { ...timedSample(cost, 'multipart form from curl'), residentMemory: { idle, peak } };
    },
  };
}

function rcloneContender(stage: BucketStage): Contender {
  const stored = `bucket:${incoming}${basename(stage.uploadFile)}`;
  const command = readingFrom(stage.uploadFile, stage.rclone(['rcat', stored, ...rcloneFlags]));
  return {
    name: rcloneName,
    program: 'rclone',
    measure: async (signal) => {
      const [, cost] = await stage.bucket.store.metered(async () => [undefined, await measureProgram(command, signal)]);
      await checkStored(stage, signal);
      return timedSample(cost, rcloneFlags.join(' '));
    },
  };
}

/** Returns the command with this file as its standard input. */
function readingFrom(file: string, command: Command): Command {
  return { ...command, file: 'sh', args: ['-c', 'exec "$@" < "$0"', file, command.file, ...command.args] };
}

/** Rejects unless the stored object equals the sent file. Then removes it. */
async function checkStored({ bucket, uploadFile }: BucketStage, signal: AbortSignal): Promise<void> {
  const key = `${incoming}${basename(uploadFile)}`;
  const [sent, stored] = await Promise.all([
    digest(createReadStream(uploadFile)),
    digest(await bucket.read(key, signal)),
  ]);
  if (!stored.equals(sent)) throw new Error(`${key} differs from the sent file`);
  await bucket.clear(incoming, signal);
}

async function digest(content: Readable): Promise<Buffer> {
  const hash = createHash('sha256');
  await pipeline(content, hash);
  return hash.digest();
}
