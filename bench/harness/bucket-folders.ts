import { createHash } from 'node:crypto';
import type { Bucket } from './bucket.ts';
import type { BucketStage } from './bucket-stage.ts';
import type { Comparison, Contender } from './comparison.ts';
import { timedSample } from './comparison.ts';
import { measureProgram, measureServer, measureTypical } from './measure.ts';
import type { Request } from './requests.ts';
import { send } from './requests.ts';
import type { RunningServer } from './servers.ts';
import { startServer } from './servers.ts';

/** Copying, moving and deleting a folder of 2,000 objects: through the service, and by rclone on the same bucket. */
export function bucketFolderComparisons(stage: BucketStage): Comparison[] {
  return operations.map((operation) => ({
    id: `${operation.name}-${objectCount}`,
    title: `${operation.title} a folder of 2,000 objects`,
    unit: 'seconds',
    reference: rcloneName(operation),
    programs: [],
    contenders: [serviceContender(operation, stage), rcloneContender(operation, stage)],
  }));
}

/** As many at once as the service has. */
const rcloneFlags = ['--transfers', '64', '--checkers', '64'];

/** Of 1 KiB each, in five folders. */
const objectCount = 2000;
const objectBytes = 1024;
/** What the service does before it is measured, so that the code of the operation is loaded. */
const warmUpCount = 100;

/** What is done with a folder, and what there has to be afterwards. */
interface FolderOperation {
  readonly name: 'copy' | 'move' | 'delete';
  readonly title: string;
  readonly rcloneCommand: string;
  readonly leavesSource: boolean;
  readonly makesDestination: boolean;
}

const operations: readonly FolderOperation[] = [
  { name: 'copy', title: 'Copy', rcloneCommand: 'copy', leavesSource: true, makesDestination: true },
  { name: 'move', title: 'Move', rcloneCommand: 'move', leavesSource: false, makesDestination: true },
  { name: 'delete', title: 'Delete', rcloneCommand: 'purge', leavesSource: false, makesDestination: false },
];

const rcloneName = ({ rcloneCommand }: FolderOperation) => `rclone ${rcloneCommand}`;

const [source, destination] = ['operated/source/', 'operated/destination/'];

function serviceContender(operation: FolderOperation, { bucket, holdall, newSite }: BucketStage): Contender {
  return {
    name: 'holdall',
    measure: async (signal) => {
      await using running = await startServer(holdall(1), newSite(), signal);
      // One process, the one that did it before: more would not take part in one operation.
      const operate = () => operateThrough(running, operation, signal);
      await plant(bucket, warmUpCount, signal);
      await operate();
      const cost = await measureTypical(async () => {
        await plant(bucket, objectCount, signal);
        const [, once] = await bucket.store.metered(() => measureServer(running.pid, operate));
        await checkResult(bucket, operation, signal);
        return once;
      });
      return timedSample(cost, '');
    },
  };
}

function rcloneContender(operation: FolderOperation, { bucket, rclone }: BucketStage): Contender {
  const folders = operation.makesDestination ? [source, destination] : [source];
  const paths = folders.map((folder) => `bucket:${folder}`);
  return {
    name: rcloneName(operation),
    program: 'rclone',
    measure: async (signal) => {
      const command = rclone([operation.rcloneCommand, ...paths, ...rcloneFlags]);
      const cost = await measureTypical(async () => {
        await plant(bucket, objectCount, signal);
        const [, once] = await bucket.store.metered(async () => [undefined, await measureProgram(command, signal)]);
        await checkResult(bucket, operation, signal);
        return once;
      });
      return timedSample(cost, rcloneFlags.join(' '));
    },
  };
}

/** Ten minutes: rather a figure that shows how slow it was than none. */
const timeoutMs = 600;

async function operateThrough({ url }: RunningServer, { name }: FolderOperation, signal: AbortSignal): Promise<void> {
  const request: Request =
    name === 'delete'
      ? { method: 'DELETE', url: url(`/delete_folder/${source}`) }
      : {
          method: 'POST',
          url: url(`/${name}`),
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ source, destination, is_folder: true }),
        };
  const { status, body } = await send({ ...request, seconds: timeoutMs }, signal);
  if (status !== 200) throw new Error(`${name}: ${status} ${body.toString()}`);
}

/** Makes the source anew, of so many objects, and nothing else. */
async function plant(bucket: Bucket, count: number, signal: AbortSignal): Promise<void> {
  await bucket.clear('operated/', signal);
  const objects = Array.from(objectsOf(count), ([path, content]) => [`${source}${path}`, content] as const);
  await bucket.put(new Map(objects), signal);
}

/** By their paths in the folder; no two alike. */
function objectsOf(count: number): Map<string, Buffer> {
  const paths = Array.from({ length: count }, (_, index) => `part ${(index % 5) + 1}/object ${index + 1}.txt`);
  return new Map(paths.map((path) => [path, Buffer.alloc(objectBytes, `${path}\n`)]));
}

/** Rejects unless every object is where it has to be, with its content, and there is nothing else; then clears up. */
async function checkResult(
  bucket: Bucket,
  { leavesSource, makesDestination }: FolderOperation,
  signal: AbortSignal,
): Promise<void> {
  await checkFolder(bucket, source, leavesSource, signal);
  await checkFolder(bucket, destination, makesDestination, signal);
  await bucket.clear('operated/', signal);
}

async function checkFolder(bucket: Bucket, folder: string, isThere: boolean, signal: AbortSignal): Promise<void> {
  const expected = Array.from(isThere ? objectsOf(objectCount) : [], ([path, content]) => {
    return `${folder}${path} ${content.length} ${createHash('md5').update(content).digest('hex')}`;
  });
  const found = (await bucket.list(folder, signal))
    // A store without folders may keep an empty object in place of one; a folder that is gone has none.
    .filter(({ key, size }) => !(isThere && key.endsWith('/') && size === 0))
    .map(({ key, size, etag }) => `${key} ${size} ${etag}`);
  const [missing, extra] = [new Set(expected).difference(new Set(found)), new Set(found).difference(new Set(expected))];
  if (missing.size === 0 && extra.size === 0) return;
  const examples = [...missing, ...extra].slice(0, 3).join(', ');
  throw new Error(`${folder}: ${missing.size} objects missing, ${extra.size} that should not be there (${examples})`);
}
