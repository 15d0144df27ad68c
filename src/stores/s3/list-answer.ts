import type { IncomingMessage } from 'node:http';
import { lateRefusal, readWhole } from './answers.ts';
import { NotXmlError, readXml } from './xml.ts';

/** A page of a listing, as the store worded it: keys may be escaped, and dates may be none. */
export interface ListAnswer {
  readonly isEscaped: boolean;
  readonly isTruncated: boolean;
  readonly token: string | undefined;
  readonly objects: readonly AnsweredObject[];
  readonly prefixes: readonly string[];
}

export interface AnsweredObject {
  readonly key: string;
  readonly size: number;
  readonly ETag: string | undefined;
  readonly LastModified: Date | undefined;
}

/** More than 1,000 keys of 1,024 bytes take, all of them escaped. */
const MOST = 16 * 2 ** 20;

/**
 * Reads the answer to ListObjectsV2. What else is in it is passed over, whatever order it has. Throws `NotXmlError` where
 * it is no listing, since nothing in it would look like an empty bucket.
 */
export async function readList(response: IncomingMessage): Promise<ListAnswer> {
  const document = (await readWhole(response, MOST)).toString();
  const objects: AnsweredObject[] = [];
  const prefixes: string[] = [];
  const page = new Map<string, string>();
  let root = '';
  let item: Item = {};
  readXml(document, (name, text, depth) => {
    if (depth === 2) {
      if (name === 'Key') item.key = text;
      else if (name === 'Size') item.size = text;
      else if (name === 'ETag') item.etag = text;
      else if (name === 'LastModified') item.modified = text;
      else if (name === 'Prefix') item.prefix = text;
    } else if (depth === 1) {
      if (name === 'Contents') objects.push(objectOf(item));
      else if (name === 'CommonPrefixes') prefixes.push(item.prefix ?? '');
      else page.set(name, text);
      item = {};
    } else if (depth === 0) {
      root = name;
    }
  });
  if (root === 'Error') throw lateRefusal(response, page);
  if (!page.has('Name') && !page.has('IsTruncated')) throw new NotXmlError(`${root} is no listing.`);
  return {
    isEscaped: page.get('EncodingType')?.trim() === 'url',
    isTruncated: page.get('IsTruncated')?.trim() === 'true',
    token: page.get('NextContinuationToken') || undefined,
    objects,
    prefixes,
  };
}

/** What is known so far of what is being read. */
interface Item {
  key?: string;
  size?: string;
  etag?: string;
  modified?: string;
  prefix?: string;
}

function objectOf({ key = '', size = '0', etag, modified }: Item): AnsweredObject {
  const bytes = Number(size);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new NotXmlError(`${size} is not the size of an object.`);
  const time = Date.parse(modified ?? '');
  return { key, size: bytes, ETag: etag, LastModified: Number.isNaN(time) ? undefined : new Date(time) };
}
