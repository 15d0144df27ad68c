import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../../testing/processes.ts';
import type { Comparison, Sample } from './comparison.ts';
import { measureServer } from './measure.ts';
import { measureReading } from './reading.ts';
import { send } from './requests.ts';
import { measureIdleMemory, peakDuring } from './resident-memory.ts';
import type { RunningServer } from './servers.ts';
import { holdall, startServer } from './servers.ts';
import { untilOld } from './stage.ts';
import type { Setting, Target, TargetGroup } from './target.ts';
import { chooseTargets, sampleFigure, speedOver } from './target.ts';
import { makePhotographs } from './thumbnail-photos.ts';
import { requestEach } from './thumbnail-requests.ts';

/** Thumbnails of photographs of 6 megapixels on a disk: drawn one by one, drawn concurrently, and cached. */
export const thumbnailTargets: TargetGroup = {
  ids: ['thumbnails-cold', 'thumbnails-64', 'thumbnails-warm'],
  bytesNeeded: () => 2 ** 28,
  async measure(setting, measureAll) {
    await makePhotographs(join(setting.folder, ROOT, PHOTOGRAPHS), names);
    await measureAll(chooseTargets([coldTarget(setting), concurrentTarget(setting), warmTarget(setting)], setting));
  },
};

/** The served folder in the folder of the group, and the folder of the photographs in it. */
const ROOT = 'root';
const PHOTOGRAPHS = 'photographs';

/** Photographs drawn before the measurement, so that the code is compiled and libvips is loaded. */
const WARM_UP = 128;

const MEASURED = 512;

const names = Array.from({ length: WARM_UP + MEASURED }, (_, index) => `${String(index).padStart(4, '0')}.jpg`);

/** Concurrent requests: enough that each process always has the next one. */
const AT_ONCE = 16;

const CONCURRENT = 64;

const bareProcess = fileURLToPath(new URL('./thumbnail-bare-process.ts', import.meta.url));

const bare = 'bare sharp';

function coldTarget(setting: Setting): Target {
  const comparison: Comparison = {
    id: 'thumbnails-cold',
    title: 'Thumbnails of 6-megapixel JPEGs, not cached',
    unit: 'requests/s',
    reference: bare,
    programs: [],
    contenders: [
      { name: bare, measure: (signal) => measureBare(setting, signal) },
      { name: 'holdall', measure: (signal) => measureCold(setting, signal) },
    ],
  };
  return { work: 'Thumbnails, cold', comparison, criteria: [speedOver(bare, 0.9)] };
}

async function measureBare({ folder }: Setting, signal: AbortSignal): Promise<Sample> {
  const args = [bareProcess, join(folder, ROOT, PHOTOGRAPHS), String(WARM_UP)];
  const { stdout } = await run({ file: process.execPath, args }, signal);
  const { perSecond, cpuSeconds }: { perSecond: number; cpuSeconds: number } = JSON.parse(stdout);
  return { value: perSecond, cpuSeconds, peakMemory: null, latencyP99: null, remark: 'from files, one per core' };
}

async function measureCold(setting: Setting, signal: AbortSignal): Promise<Sample> {
  await using running = await startHoldall(setting, signal);
  const urls = names.map((name) => running.url(`/thumb/${PHOTOGRAPHS}/${name}`));
  await requestEach(urls.slice(0, WARM_UP), AT_ONCE, signal);
  const work = () => requestEach(urls.slice(WARM_UP), AT_ONCE, signal);
  const [{ seconds, latencyP99 }, { cpuSeconds, peakMemory }] = await measureServer(running.pid, work);
  const perImage = cpuSeconds === null ? null : cpuSeconds / MEASURED;
  return { value: MEASURED / seconds, cpuSeconds: perImage, peakMemory, latencyP99, remark: `${AT_ONCE} concurrently` };
}

function concurrentTarget(setting: Setting): Target {
  const comparison: Comparison = {
    id: 'thumbnails-64',
    title: `${CONCURRENT} concurrent thumbnails of 6-megapixel JPEGs, in a fresh service`,
    unit: 'seconds',
    reference: 'holdall',
    programs: [],
    contenders: [{ name: 'holdall', measure: (signal) => measureCrowd(setting, signal) }],
  };
  const peak = sampleFigure(
    'most',
    400,
    'MB in all',
    ({ residentMemory }) => residentMemory && residentMemory.peak / 1e6,
  );
  return { work: `${CONCURRENT} thumbnails at once`, comparison, criteria: [peak] };
}

async function measureCrowd(setting: Setting, signal: AbortSignal): Promise<Sample> {
  await using running = await startHoldall(setting, signal);
  const idle = await measureIdleMemory(running, signal);
  const urls = names.slice(0, CONCURRENT).map((name) => running.url(`/thumb/${PHOTOGRAPHS}/${name}`));
  const [peak, { seconds, latencyP99 }] = await peakDuring(running, () => requestEach(urls, CONCURRENT, signal));
  const residentMemory = { idle, peak };
  return { value: seconds, cpuSeconds: null, peakMemory: peak, latencyP99, residentMemory, remark: 'resident, summed' };
}

function warmTarget(setting: Setting): Target {
  const file = 'file of that size';
  const comparison: Comparison = {
    id: 'thumbnails-warm',
    title: 'A cached thumbnail',
    unit: 'requests/s',
    reference: file,
    programs: ['wrk'],
    contenders: [
      { name: file, measure: (signal) => measureWarm(setting, '/file/', signal) },
      { name: 'holdall', measure: (signal) => measureWarm(setting, '/thumb/', signal) },
    ],
  };
  return { work: 'Thumbnails, warm', comparison, criteria: [speedOver(file, 0.8, 'holdall', '× a file of that size')] };
}

/** Requests the thumbnail of a photograph, and the same bytes as a file. */
async function measureWarm(setting: Setting, under: '/file/' | '/thumb/', signal: AbortSignal): Promise<Sample> {
  await using running = await startHoldall(setting, signal);
  const thumbnail = running.url(`/thumb/${PHOTOGRAPHS}/${names[0]}`);
  const { body } = await send({ url: thumbnail }, signal);
  const sameSize = 'of-that-size.bin';
  const file = join(setting.folder, ROOT, sameSize);
  if (!existsSync(file)) await writeFile(file, body);
  await untilOld(file, signal);
  const url = under === '/thumb/' ? thumbnail : running.url(`/file/${sameSize}`);
  const check = async (response: { body: Buffer }) => {
    if (!response.body.equals(body)) throw new Error(`GET ${url.href}: not the thumbnail`);
    return `${body.length} bytes`;
  };
  const meter = <Result>(work: () => Promise<Result>) => measureServer(running.pid, work);
  return await measureReading({ url, headers: {}, check }, setting.duration, meter, signal);
}

/** Starts a service with its defaults and an empty cache. */
function startHoldall({ folder, service }: Setting, signal: AbortSignal): Promise<RunningServer> {
  const root = join(folder, ROOT);
  const site = { root, scratch: join(folder, `scratch-${++sites}`) };
  return startServer(holdall(service, 0, { STORAGE_TYPE: 'disk', DISK_ROOT: root }), site, signal);
}

let sites = 0;
