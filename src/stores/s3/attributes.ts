import type { GetObjectCommandOutput, HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import { unquote } from './keys.ts';
import type { Attributes } from './multipart.ts';

/** What an object has beside its bytes, and what it is a copy of, if that has to be kept. */
export function attributesOf(
  described: HeadObjectCommandOutput | GetObjectCommandOutput,
  copyOf: string | undefined,
): Attributes {
  const { CacheControl, ContentDisposition, ContentEncoding, ContentLanguage, ContentType, Expires } = described;
  const given = Object.entries(described.Metadata ?? {}).map(([name, value]) => [name, fromHeader(value)]);
  const label = copyOf !== undefined && { [COPIED_FROM]: `${copyOf} ${Math.floor(Date.now() / 1000)}` };
  return {
    CacheControl: fromHeader(CacheControl),
    ContentDisposition: fromHeader(ContentDisposition),
    ContentEncoding,
    ContentLanguage: fromHeader(ContentLanguage),
    ContentType: fromHeader(ContentType),
    Expires,
    Metadata: { ...Object.fromEntries(given), ...label },
  };
}

/** Whether an object holds the bytes of one with this etag: it has the same one, or says that it is a copy of it. */
export function isMadeOf({ ETag, Metadata, LastModified }: HeadObjectCommandOutput, etag: string): boolean {
  if (etag === '') return false;
  if (unquote(ETag) === etag) return true;
  const [copyOf, time] = Metadata?.[COPIED_FROM]?.split(' ') ?? [];
  const age = (LastModified?.getTime() ?? Number.NaN) / 1000 - Number(time);
  return copyOf === etag && age >= -BEFORE && age <= AFTER;
}

/**
 * Metadata of a copy: the etag of what it was copied from, and when (seconds since 1970). Stores give a copy another
 * etag where an object was made of parts or is encrypted, and a move that was interrupted has to know its copies again.
 */
const COPIED_FROM = 'holdall-copy-of';

/**
 * Seconds before and after the time in that metadata in which the object itself must have come about: a program that
 * changes the bytes later, and keeps the metadata, makes another object. Before: what clocks may differ by (AWS
 * Signature Version 4 allows 15 minutes); after: what a copy may take.
 */
const [BEFORE, AFTER] = [900, 24 * 3600];

/** A header's value as text: Node gives its bytes as a character each, and they are UTF-8 where they are not ASCII. */
function fromHeader<Value extends string | undefined>(value: Value): Value {
  return (value === undefined ? value : Buffer.from(value, 'latin1').toString('utf8')) as Value;
}
