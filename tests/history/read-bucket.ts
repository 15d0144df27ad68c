import assert from 'node:assert/strict';
import {
  GetObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  type ListObjectVersionsCommandOutput,
} from '@aws-sdk/client-s3';
import { parseRecord } from '../../src/stores/trash-record.ts';
import { forEachConcurrently } from '../../testing/for-each-concurrently.ts';
import type { TestBucket } from '../../testing/servers/bucket.ts';
import { contentOf } from './content.ts';
import type { StoredContents, TrashItem } from './run.ts';

const RECORDS = '.holdall/trash/';
const CONTENT = '.holdall/trash-content/';
const VERSIONS = '.holdall/versions/';

/** An object, or a version of one. */
interface Stored {
  readonly key: string;
  readonly size: number;
  /** Identifies the content of the key. */
  readonly version: string;
}

/** Reads the objects of a bucket, with their versions if it has them, and its `.holdall`. */
export function readBucket({ client, name: Bucket }: TestBucket, isVersioned: boolean): StoredContents {
  const read = async ({ key, version }: Pick<Stored, 'key' | 'version'>): Promise<Buffer | undefined> => {
    const VersionId = isVersioned ? version : undefined;
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: key, VersionId }));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    } catch (error) {
      if (error instanceof Error && ['NoSuchKey', 'NoSuchVersion'].includes(error.name)) return undefined;
      throw error;
    }
  };

  /** Lists the current objects. */
  const list = async (prefix = ''): Promise<Stored[]> => {
    const { Contents = [], IsTruncated } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix }));
    assert.ok(!IsTruncated, 'One page has all objects.');
    return Contents.map(({ Key = '', Size = 0, ETag = '' }) => ({ key: Key, size: Size, version: ETag }));
  };

  const listVersions = async (): Promise<Stored[]> => {
    const all: Stored[] = [];
    for (let page: { KeyMarker?: string; VersionIdMarker?: string } | undefined = {}; page; ) {
      const listed: ListObjectVersionsCommandOutput = await client.send(
        new ListObjectVersionsCommand({ Bucket, ...page }),
      );
      const { Versions = [], IsTruncated, NextKeyMarker: KeyMarker, NextVersionIdMarker: VersionIdMarker } = listed;
      for (const { Key = '', Size = 0, VersionId = '' } of Versions) {
        all.push({ key: Key, size: Size, version: VersionId });
      }
      page = IsTruncated ? { ...(KeyMarker && { KeyMarker }), ...(VersionIdMarker && { VersionIdMarker }) } : undefined;
    }
    return all;
  };

  const readItem = async (key: string, contents: readonly Stored[]): Promise<TrashItem | undefined> => {
    const [record] = (await list(key)).filter((object) => object.key === key);
    const bytes = record && (await client.send(new GetObjectCommand({ Bucket, Key: key })).catch(() => undefined));
    const path = parseRecord((await bytes?.Body?.transformToString()) ?? '')?.path;
    if (path === undefined) return undefined;
    const id = key.slice(RECORDS.length, -'.json'.length);
    const folder = `${CONTENT}${id}/`;
    const files = contents.filter((object) => object.key.startsWith(folder) && object.size > 0);
    const pathOf = (object: Stored) => (path.endsWith('/') ? path + object.key.slice(folder.length) : path);
    return { id, path, files: Object.fromEntries(files.map((object) => [pathOf(object), object.size])) };
  };

  const verified = new Set<string>();

  return {
    async items() {
      const records = await list(RECORDS);
      const contents = await list(CONTENT);
      const items = await Promise.all(records.map(({ key }) => readItem(key, contents)));
      return items.filter((item) => item !== undefined);
    },

    async all() {
      const stored = isVersioned ? await listVersions() : await list();
      const files = stored.filter(({ key, size }) => {
        const isOwn = key.startsWith('.holdall/') && !key.startsWith(CONTENT) && !key.startsWith(VERSIONS);
        return size > 0 && !isOwn;
      });
      await forEachConcurrently(files, 8, async (file) => {
        const identity = `${file.key} ${file.version}`;
        if (verified.has(identity)) return;
        const bytes = await read(file);
        assert.equal(bytes && contentOf(bytes), file.size, `${file.key} has bytes of no content.`);
        verified.add(identity);
      });
      return [...new Set(files.map(({ size }) => size))];
    },
  };
}
