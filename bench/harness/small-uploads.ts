import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../../testing/processes.ts';
import type { Comparison, Contender, Sample } from './comparison.ts';
import { measureServer } from './measure.ts';
import type { Duration } from './reading.ts';
import type { RunningServer, Server } from './servers.ts';
import { rclone, startServer } from './servers.ts';
import type { Stage } from './stage.ts';
import { connections, load } from './wrk.ts';

/** Compares uploads of files of 4 KiB, each with a new name, 32 concurrently, and how fast the disk flushes such files. */
export function smallUploadComparison(holdall: Server, stage: Stage, duration: Duration): Comparison {
  const put = putUpload(rclone('webdav'), 'PUT; no fsync');
  return {
    id: 'upload-4KiB',
    title: `Upload files of 4 KiB, ${connections} concurrently`,
    unit: 'requests/s',
    reference: 'rclone serve webdav',
    programs: ['wrk'],
    contenders: [
      smallUploadContender(holdall, stage, duration),
      uploadContender('rclone serve webdav', rclone('webdav'), put, stage, duration),
      ...diskContenders(stage, duration),
    ],
  };
}

/** Measures how fast the disk itself can flush new files. */
export function diskContenders(stage: Stage, duration: Duration): Contender[] {
  return [
    diskContender('the disk, sequentially', 1, stage, duration),
    diskContender(`the disk, ${connections} concurrently`, connections, stage, duration),
  ];
}

/** Measures uploads to Holdall. */
export function smallUploadContender(holdall: Server, stage: Stage, duration: Duration): Contender {
  const form: Upload = {
    path: () => '/upload',
    requests: (folder, tag) => ['form', `${folder}/`, tag],
    remark: 'multipart; fsync',
  };
  return uploadContender(holdall.name, holdall, form, stage, duration);
}

/** How a server receives a file of 4 KiB. */
interface Upload {
  /** The path of the URL for uploads to a folder. */
  path(folder: string): string;
  /** The arguments of wrk.lua for files whose names begin with a tag. */
  requests(folder: string, tag: string): readonly string[];
  /** Prepares the empty folder, whose absolute path this is. */
  prepare?(folder: string, signal: AbortSignal): Promise<void>;
  readonly remark: string;
}

/** Returns an upload by PUT to the path of the file. */
export function putUpload(server: Server, remark: string, prepare?: Upload['prepare']): Upload {
  return {
    path: (folder) => server.filePath(`${folder}/`),
    requests: (_folder, tag) => ['put', tag],
    ...(prepare && { prepare }),
    remark,
  };
}

/** Measures uploads to a server. */
export function uploadContender(
  name: string,
  server: Server,
  { path, requests, prepare, remark }: Upload,
  stage: Stage,
  duration: Duration,
): Contender {
  return {
    name,
    program: server.program,
    measure: async (signal) => {
      const folder = await stage.makeIncoming(signal);
      await prepare?.(join(stage.root, folder), signal);
      await using running = await startServer(server, stage.newSite(), signal);
      const url = running.url(path(folder));
      await load({ url, requests: requests(folder, 'warm-up'), seconds: duration.warmUp }, signal);
      const requested = { url, requests: requests(folder, 'measured'), seconds: duration.measured };
      const [result, cost] = await measureServer(running.pid, () => load(requested, signal));
      await checkStored(join(stage.root, folder), running, result.requests);
      return {
        value: result.requestsPerSecond,
        cpuSeconds: cost.cpuSeconds === null ? null : cost.cpuSeconds / result.requests,
        peakMemory: cost.peakMemory,
        latencyP99: result.latencyP99,
        remark,
      };
    },
  };
}

/** Measures the disk itself, without requests: each thread writes, flushes and closes new files. */
function diskContender(name: string, concurrency: number, stage: Stage, { measured }: Duration): Contender {
  return {
    name,
    measure: async (signal): Promise<Sample> => {
      const folder = await stage.makeIncoming(signal);
      const args = [
        fileURLToPath(new URL('./fsync-loop.ts', import.meta.url)),
        join(stage.root, folder),
        String(concurrency),
        String(measured),
      ];
      const env = { UV_THREADPOOL_SIZE: String(concurrency) };
      const { stdout } = await run({ file: process.execPath, args, env }, signal);
      const { files, seconds }: { files: number; seconds: number } = JSON.parse(stdout);
      return { value: files / seconds, cpuSeconds: null, peakMemory: null, latencyP99: null, remark: 'fsyncs/s' };
    },
  };
}

/** Throws unless a file exists for each response. Requests in progress at the end may add one file each. */
async function checkStored(incoming: string, { url }: RunningServer, responses: number): Promise<void> {
  const names = (await readdir(incoming)).filter((name) => name.startsWith('measured-'));
  if (names.length < responses || names.length > responses + connections) {
    throw new Error(`${url('/').href}: ${responses} uploads succeeded, ${names.length} are stored`);
  }
  const content = Buffer.alloc(4096, '0123456789abcdef');
  // Only the first ones: some servers keep a part of the requests in progress at the end.
  for (const name of names.filter((file) => /-[1-9]\.bin$/.test(file))) {
    if (!content.equals(await readFile(join(incoming, name)))) throw new Error(`${name} differs from the sent file`);
  }
}
