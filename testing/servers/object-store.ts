import { assertDeclared } from '../../tests/runner/declared.ts';

/** An S3-compatible store, and an access key with all permissions. */
export interface ObjectStore {
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Minimum bytes of a part, except for the last one of an upload. Default: 5 MiB, as on Amazon S3 */
  readonly minPartBytes?: number;
  /** Whether the store is removed after the tests, with all its data: the tests don't remove their buckets. */
  readonly isTemporary?: boolean;
}

/** The store of the tests: a Ceph that `npm test` started, or one that the caller named. */
export function testObjectStore(): ObjectStore {
  assertDeclared('bucket');
  const { endpoint, region, accessKeyId, secretAccessKey } = VARIABLES;
  const missing = [endpoint, accessKeyId, secretAccessKey].filter((name) => !process.env[name]);
  if (missing.length > 0) {
    throw new Error(
      `These tests need an object store, and ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set. ` +
        `"npm test" starts one. ${ANOTHER_STORE_HINT}.`,
    );
  }
  return {
    endpoint: process.env[endpoint] ?? '',
    region: process.env[region] || DEFAULT_REGION,
    accessKeyId: process.env[accessKeyId] ?? '',
    secretAccessKey: process.env[secretAccessKey] ?? '',
    ...minPartBytesOfTests(),
    isTemporary: process.env[TEMPORARY] === 'true',
  };
}

/** Returns the minimum of the store of the tests, if it is known. Needs no store. */
export function minPartBytesOfTests(): Pick<ObjectStore, 'minPartBytes'> {
  const bytes = process.env[MIN_PART_BYTES];
  return bytes === undefined ? {} : { minPartBytes: Number(bytes) };
}

/** Returns the bytes of a part of an upload, if the options of the bucket contain the minimum of the store. */
export const partBytesOf = ({ minPartBytes = 8 * 2 ** 20 }: Pick<ObjectStore, 'minPartBytes'>): number => minPartBytes;

/** The environment variables by which `testObjectStore` finds this store. */
export function environmentOf(store: ObjectStore): Record<string, string> {
  return {
    [VARIABLES.endpoint]: store.endpoint,
    [VARIABLES.region]: store.region,
    [VARIABLES.accessKeyId]: store.accessKeyId,
    [VARIABLES.secretAccessKey]: store.secretAccessKey,
    ...(store.isTemporary && { [TEMPORARY]: 'true' }),
    ...(store.minPartBytes !== undefined && { [MIN_PART_BYTES]: String(store.minPartBytes) }),
  };
}

/** Whether the caller named a store, so that none must be started. Its key may be missing. */
export function isObjectStoreNamed(): boolean {
  return Boolean(process.env[VARIABLES.endpoint]);
}

/** The default region of S3. Ceph accepts any. */
export const DEFAULT_REGION = 'us-east-1';

const VARIABLES = {
  endpoint: 'S3_TEST_ENDPOINT',
  region: 'S3_TEST_REGION',
  accessKeyId: 'S3_TEST_ACCESS_KEY_ID',
  secretAccessKey: 'S3_TEST_SECRET_ACCESS_KEY',
} as const satisfies Record<Exclude<keyof ObjectStore, 'isTemporary' | 'minPartBytes'>, string>;

/** Set by `npm test` for the store that it started. */
const TEMPORARY = 'S3_TEST_TEMPORARY';
const MIN_PART_BYTES = 'S3_TEST_MIN_PART_BYTES';

/** The end of messages about a required object store. */
export const ANOTHER_STORE_HINT =
  `To use another store, set ${VARIABLES.endpoint}, ${VARIABLES.accessKeyId}, ${VARIABLES.secretAccessKey} and, ` +
  `unless it is ${DEFAULT_REGION}, ${VARIABLES.region}`;
