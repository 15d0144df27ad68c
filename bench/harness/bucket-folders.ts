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

/** Copies, moves and deletes a folder of 2,000 objects: through the service, and with rclone on the same bucket. */
export function bucketFolderComparisons(stage: BucketStage): Comparison[] {
  return operations.map((operation) => ({
    id: `${operation.name}-${objectCount}`,
    title: `${operation.title}: a folder of 2,000 objects`,
    unit: 'seconds',
    reference: rcloneName(operation),
    programs: [],
    contenders: [serviceContender(operation, stage), rcloneContender(operation, stage)],
  }));
}

/** The same concurrency as in the service. */
const rcloneFlags = ['--transfers', '64', '--checkers', '64'];

/** The objects have 1 KiB each and are in five folders. */
const objectCount = 2000;
const objectBytes = 1024;
/** The objects of the operation before the measured ones, which loads its code. */
const warmUpCount = 100;

/** An operation on a folder, and its expected result. */
interface FolderOperation {
  readonly name: 'copy' | 'move' | 'trash' | 'delete';
  readonly title: string;
  readonly rcloneCommand: string;
  readonly leavesSource: boolean;
  readonly makesDestination: boolean;
  /** Whether the destination of the service is its trash. */
  readonly usesTrash?: boolean;
}

const operations: readonly FolderOperation[] = [
  { name: 'copy', title: 'Copy', rcloneCommand: 'copy', leavesSource: true, makesDestination: true },
  { name: 'move', title: 'Move', rcloneCommand: 'move', leavesSource: false, makesDestination: true },
  {
    name: 'trash',
    title: 'Move to the trash',
    rcloneCommand: 'move',
    leavesSource: false,
    makesDestination: true,
    usesTrash: true,
  },
  {
    name: 'delete',
    title: 'Delete permanently',
    rcloneCommand: 'purge',
    leavesSource: false,
    makesDestination: false,
  },
];

const rcloneName = ({ rcloneCommand }: FolderOperation) => `rclone ${rcloneCommand}`;

const [source, destination] = ['operated/source/', 'operated/destination/'];

function serviceContender(operation: FolderOperation, { bucket, holdall, newSite }: BucketStage): Contender {
  return {
    name: 'holdall',
    measure: async (signal) => {
      await using running = await startServer(holdall(1), newSite(), signal);
      // One operation uses one process. With more, the warm-up could load the code of another one.
      const operate = () => operateThrough(running, operation, signal);
      await plant(bucket, warmUpCount, signal);
      await operate();
      const cost = await measureTypical(async () => {
        await plant(bucket, objectCount, signal);
        const [, once] = await bucket.store.metered(() => measureServer(running.pid, operate));
        const trashed = operation.usesTrash ? await findTrashed(bucket, signal) : undefined;
        await checkResult(bucket, operation, { made: trashed, signal });
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
        await checkResult(bucket, operation, { signal });
        return once;
      });
      return timedSample(cost, rcloneFlags.join(' '));
    },
  };
}

/** A slow operation must still result in a figure. */
const TIMEOUT_SECONDS = 600;

async function operateThrough({ url }: RunningServer, { name }: FolderOperation, signal: AbortSignal): Promise<void> {
  const transfer = (path: string): Request => ({
    method: 'POST',
    url: url(path),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ source, destination, is_folder: true }),
  });
  const requests: Record<FolderOperation['name'], Request> = {
    copy: transfer('/copy'),
    move: transfer('/move'),
    trash: { method: 'DELETE', url: url(`/delete_folder/${source}`) },
    delete: { method: 'DELETE', url: url(`/delete_folder/${source}?permanent=true`) },
  };
  const { status, body } = await send({ ...requests[name], seconds: TIMEOUT_SECONDS }, signal);
  if (status !== 200) throw new Error(`${name}: ${status} ${body.toString()}`);
}

/** Replaces all objects of earlier operations with a source of this many objects. */
async function plant(bucket: Bucket, count: number, signal: AbortSignal): Promise<void> {
  await clear(bucket, signal);
  const objects = Array.from(objectsOf(count), ([path, content]) => [`${source}${path}`, content] as const);
  await bucket.put(new Map(objects), signal);
}

/** Returns the contents of the objects by their paths in the folder. All contents differ. */
function objectsOf(count: number): Map<string, Buffer> {
  const paths = Array.from({ length: count }, (_, index) => `part ${(index % 5) + 1}/object ${index + 1}.txt`);
  return new Map(paths.map((path) => [path, Buffer.alloc(objectBytes, `${path}\n`)]));
}

/** Removes all objects of the operations, and the trash. */
async function clear(bucket: Bucket, signal: AbortSignal): Promise<void> {
  for (const prefix of ['operated/', '.holdall/']) await bucket.clear(prefix, signal);
}

/** Returns the folder in the bucket with the content of the only item in the trash. */
async function findTrashed(bucket: Bucket, signal: AbortSignal): Promise<string> {
  const folders = new Set(
    (await bucket.list(TRASH_CONTENT, signal)).map(({ key }) =>
      key.slice(0, key.indexOf('/', TRASH_CONTENT.length) + 1),
    ),
  );
  const [folder, ...others] = folders;
  if (folder === undefined || others.length > 0) throw new Error(`${folders.size} items in the trash, not 1`);
  return folder;
}

const TRASH_CONTENT = '.holdall/trash-content/';

/**
 * Throws unless the source, and the folder that the operation made, have exactly the expected objects and contents.
 * Then removes everything.
 */
async function checkResult(
  bucket: Bucket,
  { leavesSource, makesDestination }: FolderOperation,
  { made = destination, signal }: { readonly made?: string | undefined; readonly signal: AbortSignal },
): Promise<void> {
  await checkFolder(bucket, source, leavesSource, signal);
  await checkFolder(bucket, made, makesDestination, signal);
  await clear(bucket, signal);
}

async function checkFolder(bucket: Bucket, folder: string, exists: boolean, signal: AbortSignal): Promise<void> {
  const expected = Array.from(exists ? objectsOf(objectCount) : [], ([path, content]) => {
    return `${folder}${path} ${content.length} ${createHash('md5').update(content).digest('hex')}`;
  });
  const found = (await bucket.list(folder, signal))
    // The marker of an empty folder may remain, except of one that must not exist.
    .filter(({ key, size }) => !(exists && key.endsWith('/') && size === 0))
    .map(({ key, size, etag }) => `${key} ${size} ${etag}`);
  const [missing, extra] = [new Set(expected).difference(new Set(found)), new Set(found).difference(new Set(expected))];
  if (missing.size === 0 && extra.size === 0) return;
  const examples = [...missing, ...extra].slice(0, 3).join(', ');
  throw new Error(`${folder}: ${missing.size} objects missing, ${extra.size} that should not be there (${examples})`);
}
