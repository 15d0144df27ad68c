import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../testing/processes.ts';
import type { Comparison, Contender } from './comparison.ts';
import { percentile } from './figures.ts';
import { measureServer } from './measure.ts';
import type { Duration } from './reading.ts';
import type { RunningServer, Server } from './servers.ts';
import { startServer } from './servers.ts';
import type { Stage } from './stage.ts';
import { sendSteadily } from './steady-requests.ts';
import { connections, load } from './wrk.ts';

/** Compares the latency of requests with and without concurrent requests for files on a slow disk. */
export function slowDiskComparison(holdall: Server, stage: Stage, duration: Duration): Comparison {
  return {
    id: 'slow-disk',
    title: `Other requests during ${connections} downloads from a disk with ${slowMilliseconds} ms latency`,
    unit: 'seconds',
    reference: quiet,
    programs: ['wrk', 'gcc'],
    contenders: [
      contender('holdall', true, holdall, stage, duration),
      contender(quiet, false, holdall, stage, duration),
    ],
  };
}

const quiet = 'holdall without the slow disk';

/** The latency of the disk for each open and each read. */
const slowMilliseconds = 200;

const perSecond = 200;

/** More files than can be fetched in the time, so that no file is fetched twice. */
const slowFiles = 4000;

function contender(name: string, isDiskInUse: boolean, holdall: Server, stage: Stage, duration: Duration): Contender {
  return {
    name,
    measure: async (signal) => {
      const site = stage.newSite();
      const folder = join(stage.root, 'slow');
      await makeSlowFiles(folder);
      await mkdir(site.scratch);
      const preload = await buildPreload(site.scratch, signal);
      const slowed = slowedDown(holdall, preload, folder);
      await using running = await startServer(slowed, site, signal);
      const others = (seconds: number) => sendSteadily({ urls: otherUrls(running), perSecond, seconds }, signal);
      await others(duration.warmUp);
      const whileFetching = async () => {
        if (!isDiskInUse) return await others(duration.measured);
        const [latencies] = await Promise.all([
          others(duration.measured),
          fetchSlowly(running, duration.measured, signal),
        ]);
        return latencies;
      };
      const [latencies, cost] = await measureServer(running.pid, whileFetching);
      return {
        value: percentile(latencies, 50) / 1000,
        cpuSeconds: null,
        peakMemory: cost.peakMemory,
        latencyP99: percentile(latencies, 99),
        remark: `${perSecond} requests/s, each timed from when it was due`,
      };
    },
  };
}

/** Requests that don't use the slow folder: a file, a listing, and a probe. */
function otherUrls({ url }: RunningServer): URL[] {
  return [url('/file/4KiB.bin'), url('/'), url('/-/health/ready')];
}

/** Rejects if the files were not slow, because the figures would then be meaningless. */
async function fetchSlowly({ url }: RunningServer, seconds: number, signal: AbortSignal): Promise<void> {
  const requests = ['cycle', '/file/slow/%d.bin', String(slowFiles)];
  const { latencyMedian } = await load({ url: url('/'), requests, seconds }, signal);
  if (latencyMedian < slowMilliseconds) {
    throw new Error(`the disk must take ${slowMilliseconds} ms, but the median response took ${latencyMedian} ms`);
  }
}

async function makeSlowFiles(folder: string): Promise<void> {
  // Exists since the previous round.
  if ((await mkdir(folder, { recursive: true })) === undefined) return;
  const content = Buffer.alloc(4096, 'slow ');
  for (let number = 1; number <= slowFiles; number++) await writeFile(join(folder, `${number}.bin`), content);
}

/** Compiles slow-disk.c: the file to preload. */
async function buildPreload(folder: string, signal: AbortSignal): Promise<string> {
  const preload = join(folder, 'slow-disk.so');
  const source = join(import.meta.dirname, 'slow-disk.c');
  await run({ file: 'gcc', args: ['-O2', '-shared', '-fPIC', '-o', preload, source, '-ldl'] }, signal);
  return preload;
}

function slowedDown(server: Server, preload: string, folder: string): Server {
  return {
    ...server,
    command: async (site, port) => {
      const command = await server.command(site, port);
      const slowness = { LD_PRELOAD: preload, SLOW_FOLDER: folder, SLOW_MILLISECONDS: String(slowMilliseconds) };
      return { ...command, env: { ...command.env, ...slowness } };
    },
  };
}
