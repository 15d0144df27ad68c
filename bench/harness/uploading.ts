import { basename, join } from 'node:path';
import type { Comparison, Contender } from './comparison.ts';
import { timedSample } from './comparison.ts';
import type { PartOrder } from './curl.ts';
import { uploadByPut, uploadForm } from './curl.ts';
import { measureCommand, measureServer } from './measure.ts';
import { run } from './processes.ts';
import { idleAfterWarmUp, peakDuring } from './resident-memory.ts';
import type { Server } from './servers.ts';
import { rclone, startServer } from './servers.ts';
import type { Stage } from './stage.ts';

/**
 * Storing 1 GiB: by upload to the servers that take one, and by the commands that no upload can beat.
 * nginx and caddy are not among them: as Debian packages them, neither takes an upload.
 */
export function uploadComparison(holdall: Server, stage: Stage): Comparison {
  const commands = [
    ['cp', 'cp "$0" "$1"', inPageCache],
    ['cp + fsync', 'cp "$0" "$1" && sync "$1"', synced],
    ['dd conv=fsync', 'dd if="$0" of="$1" bs=1M conv=fsync status=none', synced],
  ] as const;
  return {
    id: 'upload-1GiB',
    title: 'Upload 1 GiB',
    unit: 'seconds',
    reference: 'cp + fsync',
    programs: ['curl', 'cmp'],
    contenders: [
      formContender(holdall, 'prefix first', stage),
      formContender(holdall, 'file first', stage),
      webdavContender(stage),
      ...commands.map(([name, script, remark]) => commandContender(name, script, remark, stage)),
    ],
  };
}

const synced = 'on the disk when it ends (fsync)';
const inPageCache = 'in memory when it ends (no fsync)';

function formContender(holdall: Server, order: PartOrder, stage: Stage): Contender {
  return {
    name: `holdall, ${order}`,
    family: 'holdall',
    measure: async (signal) => {
      const prefix = 'incoming/';
      await using running = await startServer(holdall, stage.newSite(), signal);
      const send = (file: string) => uploadForm({ base: running.url('/'), file, prefix, order }, signal);
      await send(stage.warmUpFile);
      const idle = await idleAfterWarmUp(running, { file: stage.smallFile, prefix, order }, signal);
      await stage.clearIncoming(signal);
      const [peak, [, cost]] = await peakDuring(running, () =>
        measureServer(running.pid, () => send(stage.uploadFile)),
      );
      await checkStored(stage, signal);
      return { ...timedSample(cost, `multipart; ${synced}`), residentMemory: { idle, peak } };
    },
  };
}

function webdavContender(stage: Stage): Contender {
  return {
    name: 'rclone serve webdav',
    family: 'rclone',
    program: 'rclone',
    measure: async (signal) => {
      await using running = await startServer(rclone('webdav'), stage.newSite(), signal);
      const send = (file: string) => uploadByPut(running.url(`/incoming/${basename(file)}`), file, signal);
      await send(stage.warmUpFile);
      await stage.clearIncoming(signal);
      const [, cost] = await measureServer(running.pid, () => send(stage.uploadFile));
      await checkStored(stage, signal);
      return timedSample(cost, `PUT; ${inPageCache}`);
    },
  };
}

function commandContender(name: string, script: string, remark: string, stage: Stage): Contender {
  return {
    name,
    family: 'coreutils',
    measure: async (signal) => {
      const destination = join(stage.incoming, basename(stage.uploadFile));
      const [, cost] = await measureCommand(async () => {
        await run({ file: 'sh', args: ['-c', script, stage.uploadFile, destination] }, signal);
      });
      await checkStored(stage, signal);
      return timedSample(cost, remark);
    },
  };
}

/** Rejects unless what was stored is what was sent; then makes room for the next. */
async function checkStored(stage: Stage, signal: AbortSignal): Promise<void> {
  const stored = join(stage.incoming, basename(stage.uploadFile));
  await run({ file: 'cmp', args: ['--', stage.uploadFile, stored] }, signal);
  await stage.clearIncoming(signal);
}
