import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparePaths } from '../../src/model/path.ts';
import { openFakeBucket } from '../../testing/servers/fake-bucket.ts';
import { transfersOf } from '../../testing/servers/objects.ts';
import { errorResponse, type OwnResponse, type S3Request } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import { folder, ofKind } from '../contract/bytes.ts';

/** The size of a large folder. */
export interface LargeFolder {
  /** The maximum number of keys on a page. Amazon S3 gives 1,000, and can give fewer. */
  readonly pageSize: number;
  readonly folders: number;
  readonly filesInEach: number;
}

/** Tests that large folders are listed in ranges. The folder must have more than ten pages. */
export function testLargeFolders({ pageSize, folders, filesInEach }: LargeFolder): void {
  const names = namesOf(folders, filesInEach);
  const last = String(folders - 1).padStart(4, '0');
  /** Names only at the destination: before the first file, at the ends of folders, between folders, after the last. */
  const extras = ['!', '0000/~', '0009/~', '0012', '0012/', '0030!', `${last}/~`, '~/~'];
  const openFolders = () => bucketOf([...below('f/', names), ...below('g/', [...names, ...extras])], pageSize);

  describe('Comparing two large folders', () => {
    it('lists several ranges concurrently and sees each file exactly once', async (t) => {
      const bucket = openFolders();
      const { store, proxy } = await openFakeBucket(t, async (request) => {
        if (request.query.has('start-after') && !request.query.has('delimiter')) {
          await until('several listings are in progress', () => proxy.maxConcurrent('ListObjectsV2') > 2);
        }
        return bucket.respond(request);
      });
      await transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: true });
      assert.deepEqual(new Set(bucket.removed), new Set(below('g/', extras)));
      assert.equal(proxy.count('CopyObject'), 0);
      assert.ok(proxy.maxConcurrent('ListObjectsV2') > 2);
    });

    it('sees all unchanged files while other files are created and deleted', async (t) => {
      const bucket = openFolders();
      const created = below('g/', ['0010+/new', '0020/~~']);
      let isChanged = false;
      const { store } = await openFakeBucket(t, (request) => {
        const response = bucket.respond(request);
        // The destination is divided at folder names. Once these are listed, half of the folders disappear and others appear.
        if (!isChanged && request.query.has('delimiter') && request.query.get('prefix') === 'g/') {
          bucket.change(created, (key) => /^g\/\d\d\d[13579]\/\d/.test(key));
          isChanged = true;
        }
        return response;
      });
      await transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: true });
      assert.ok(isChanged);
      const removed = new Set(bucket.removed);
      assert.deepEqual(removed.difference(new Set(created)), new Set(below('g/', extras)));
      assert.deepEqual(new Set(below('g/', names)).difference(bucket.present), new Set());
    });

    it('sends one request per page for small folders and folders without subfolders', async (t) => {
      for (const listed of [
        namesOf((3 * pageSize) / filesInEach, filesInEach),
        namesOf(1, 9.5 * pageSize),
        below(
          '',
          Array.from({ length: 9.5 * pageSize }, (_, n) => `${n + 1e6}`),
        ),
      ]) {
        const bucket = bucketOf([...below('f/', listed), ...below('g/', listed)], pageSize);
        const { store, proxy } = await openFakeBucket(t, bucket.respond);
        await assert.rejects(
          transfersOf(store).copyFolder(folder('f'), folder('g'), { replace: false }),
          ofKind('already-exists'),
        );
        // One request for each folder checks that it exists.
        assert.equal(proxy.count('ListObjectsV2'), 2 + 2 * Math.ceil(listed.length / pageSize));
        const pageSizes = proxy.requests.map(({ query }) => query.get('max-keys'));
        assert.deepEqual(new Set(pageSizes), new Set(['1', '1000']));
      }
    });
  });

  describe('Moving a large folder', () => {
    it('lists the source four times and the destination twice, plus the existence checks', async (t) => {
      const moved = namesOf(3, pageSize / 2);
      const bucket = bucketOf(below('f/', moved), pageSize);
      const { store, proxy } = await openFakeBucket(t, bucket.respond);
      await transfersOf(store).moveFolder(folder('f'), folder('g'), { replace: false });
      assert.deepEqual(bucket.present, new Set(below('g/', moved)));
      const lists = proxy.requests.filter(({ operation }) => operation === 'ListObjectsV2');
      const listsOf = (prefix: string) => lists.filter(({ query }) => query.get('prefix') === prefix).length;
      // Existence check; two pages each to check the paths, to copy, to verify and to remove; the remaining keys.
      assert.equal(listsOf('f/'), 1 + 2 + 2 + 2 + 2 + 1);
      // Existence check; conflict check; two pages each for the two verifications; the first page of the result.
      assert.equal(listsOf('g/'), 1 + 1 + 2 + 2 + 1);
    });
  });
}

/** A fake bucket that stores only keys, for more objects than a real store accepts within seconds. All objects are equal. */
export function bucketOf(keys: Iterable<string>, pageSize: number) {
  const present = new Set(keys);
  const removed: string[] = [];
  let sorted: string[] | undefined;
  const change = (added: readonly string[], isRemoved: (key: string) => boolean) => {
    for (const key of present) if (isRemoved(key)) present.delete(key);
    for (const key of added) present.add(key);
    sorted = undefined;
  };
  const respond = ({ operation, key = '', query }: S3Request): OwnResponse => {
    // A lease is written and removed.
    if (key.startsWith('.holdall/')) return { status: 200, headers: { etag: '"lease"' } };
    if (operation === 'ListObjectsV2') {
      sorted ??= [...present].toSorted(comparePaths);
      return list(sorted, query, pageSize);
    }
    if (operation === 'HeadObject')
      return present.has(key) ? { status: 200, headers: { etag: '"e"' } } : { status: 404 };
    if (operation !== 'CopyObject' && operation !== 'DeleteObject') return errorResponse(501, 'NotImplemented');
    sorted = undefined;
    if (operation === 'CopyObject') present.add(key);
    else if (present.delete(key)) removed.push(key);
    return { status: 200, body: '<CopyObjectResult><ETag>"e"</ETag></CopyObjectResult>' };
  };
  return { present, removed, change, respond };
}

/** Implements ListObjectsV2 as documented. The continuation token is the last key of the page. */
function list(keys: readonly string[], query: URLSearchParams, pageSize: number): OwnResponse {
  const prefix = query.get('prefix') ?? '';
  const maxKeys = Math.min(Number(query.get('max-keys')), pageSize);
  const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
  const hasDelimiter = query.has('delimiter');
  const found = new Map<string, string>();
  for (let index = firstIndex(keys, prefix, after); index < keys.length; index++) {
    const key = keys[index] ?? '';
    if (!key.startsWith(prefix)) break;
    const end = hasDelimiter ? key.indexOf('/', prefix.length) : -1;
    const common = key.slice(0, end + 1);
    if (end !== -1 && common === after) continue;
    if (found.size === maxKeys && !found.has(common)) {
      const last = [...found.keys()].at(-1) ?? '';
      return page(found, `<IsTruncated>true</IsTruncated><NextContinuationToken>${last}</NextContinuationToken>`);
    }
    if (end !== -1) found.set(common, `<CommonPrefixes><Prefix>${common}</Prefix></CommonPrefixes>`);
    else found.set(key, `<Contents><Key>${key}</Key><ETag>"e"</ETag><Size>1</Size></Contents>`);
  }
  return page(found, '<IsTruncated>false</IsTruncated>');
}

/** Returns the index of the first key with the prefix that comes after `after`. The keys are sorted. */
function firstIndex(keys: readonly string[], prefix: string, after: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const key = keys[middle] ?? '';
    if (comparePaths(key, prefix) < 0 || comparePaths(key, after) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function page(found: ReadonlyMap<string, string>, continuation: string): OwnResponse {
  return { status: 200, body: `<ListBucketResult>${continuation}${[...found.values()].join('')}</ListBucketResult>` };
}

/** Returns relative file names, `filesInEach` in each of `folders` subfolders. */
function namesOf(folders: number, filesInEach: number): string[] {
  return Array.from({ length: folders * filesInEach }, (_, index) => {
    const inFolder = String(Math.floor(index / filesInEach)).padStart(4, '0');
    return `${inFolder}/${String(index % filesInEach).padStart(4, '0')}`;
  });
}

const below = (prefix: string, names: Iterable<string>) => Array.from(names, (name) => `${prefix}${name}`);
