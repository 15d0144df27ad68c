import { basename, join } from 'node:path';
import { run } from '../../testing/processes.ts';
import type { Comparison, Contender } from './comparison.ts';
import { timedSample } from './comparison.ts';
import { uploadByPut, uploadForm } from './curl.ts';
import type { Cost } from './measure.ts';
import { measureCommand, measureServer, measureTypical } from './measure.ts';
import { measureIdleMemory, peakDuring, warmUp } from './resident-memory.ts';
import type { Server } from './servers.ts';
import { rclone, startServer } from './servers.ts';
import type { Stage } from './stage.ts';

/** The names of two contenders: an upload with the folder before the file, and the reference. */
export const [uploading, uploadingPeer] = ['holdall', 'rclone serve webdav'];

/**
 * Compares storing 1 GiB: uploads to the servers that support them, and the command that is the limit of any durable upload.
 * nginx and caddy are missing, because the packages of Debian don't support uploads.
 */
export function uploadComparison(holdall: Server, stage: Stage): Comparison {
  return {
    id: 'upload-1GiB',
    title: 'Upload 1 GiB',
    unit: 'seconds',
    reference: uploadingPeer,
    programs: ['curl', 'cmp'],
    contenders: [
      serviceContender(holdall, stage),
      putContender({ name: uploadingPeer, server: rclone('webdav'), remark: `PUT; ${inPageCache}` }, stage),
      copyContender(stage),
    ],
  };
}

/** When an upload ends: two remarks. */
export const synced = 'on the disk when it ends (fsync)';
export const inPageCache = 'in memory when it ends (no fsync)';

function serviceContender(holdall: Server, stage: Stage): Contender {
  return {
    name: uploading,
    measure: async (signal) => {
      const form = { prefix: 'incoming/', order: 'prefix first' } as const;
      await using running = await startServer(holdall, stage.newSite(), signal);
      const send = (file: string) => uploadForm({ ...form, base: running.url('/'), file }, signal);
      await send(stage.warmUpFile);
      await warmUp(running, { ...form, file: stage.smallFile }, signal);
      await stage.clearIncoming(signal);
      const idle = await measureIdleMemory(running, signal);
      const [peak, cost] = await peakDuring(running, () => {
        const measure = () => measureServer(running.pid, () => send(stage.uploadFile));
        return measureStoring(measure, stage, signal);
      });
      return { ...timedSample(cost, `multipart; ${synced}`), residentMemory: { idle, peak } };
    },
  };
}

/** Measures PUT of the file. With `sync`, the time includes that of `sync` on the stored file. */
export function putContender({ name, server, remark, sync = false }: PutContender, stage: Stage): Contender {
  return {
    name,
    program: server.program,
    measure: async (signal) => {
      await using running = await startServer(server, stage.newSite(), signal);
      const send = (file: string) =>
        uploadByPut(running.url(server.filePath(`incoming/${basename(file)}`)), file, signal);
      await send(stage.warmUpFile);
      await stage.clearIncoming(signal);
      const stored = join(stage.incoming, basename(stage.uploadFile));
      const measure = () =>
        measureServer(running.pid, async () => {
          await send(stage.uploadFile);
          if (sync) await run({ file: 'sync', args: [stored] }, signal);
        });
      return timedSample(await measureStoring(measure, stage, signal), remark);
    },
  };
}

interface PutContender {
  readonly name: string;
  readonly server: Server;
  readonly remark: string;
  readonly sync?: boolean;
}

/** Measures the limit of any durable upload. */
export function copyContender(stage: Stage): Contender {
  return {
    name: 'cp + fsync',
    measure: async (signal) => {
      const destination = join(stage.incoming, basename(stage.uploadFile));
      const copy = ['-c', 'cp "$0" "$1" && sync "$1"', stage.uploadFile, destination];
      const measure = () => measureCommand(() => run({ file: 'sh', args: copy }, signal));
      const cost = await measureStoring(measure, stage, signal);
      return timedSample(cost, synced);
    },
  };
}

/** Stores the file several times, and verifies each one. */
function measureStoring(measure: () => Promise<[unknown, Cost]>, stage: Stage, signal: AbortSignal): Promise<Cost> {
  return measureTypical(async () => {
    const [, cost] = await measure();
    await checkStored(stage, signal);
    return cost;
  });
}

/** Rejects unless the stored file equals the sent one. Then removes it. */
async function checkStored(stage: Stage, signal: AbortSignal): Promise<void> {
  const stored = join(stage.incoming, basename(stage.uploadFile));
  await run({ file: 'cmp', args: ['--', stage.uploadFile, stored] }, signal);
  await stage.clearIncoming(signal);
}
