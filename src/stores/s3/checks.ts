import { type AdviceTable, type Check, failed, findAdvice, notTried, ok, warning } from '../../checks/check.ts';
import {
  HOSTILE_NAME,
  LARGE,
  LARGE_NAME,
  OTHER_ETAG,
  PLAIN_NAME,
  readProbe,
  SMALL,
  writeProbe,
} from '../../checks/probe.ts';
import { sendRequest } from '../../checks/requests.ts';
import { isStoreError } from '../../model/error.ts';
import { childFile, childFolder, parseFile, ROOT } from '../../model/path.ts';
import { attachmentHeader } from '../../model/presentation.ts';
import { isLoopback } from '../../system.ts';
import { adviseOn, type BackendChecks, type StoreAction, type StoreSubject } from '../backend.ts';
import { networkAdvice } from '../network.ts';
import { type Bucket, openBucket } from './bucket.ts';
import { type ConditionHeaders, IF_ABSENT, isMissingCapability } from './capabilities.ts';
import { codeOf } from './errors.ts';
import { encodeKey, quote } from './keys.ts';
import { abortsIncompleteUploads, copyObject, getVersioning, putObject } from './operations.ts';
import { bucketOptions, endpointOf, type S3Settings } from './settings.ts';

/** The checks of a bucket. */
export const CHECKS: BackendChecks<S3Settings> = {
  // A wrong clock can cause all later failures.
  beforeOpen: (runner, settings) => runner.run([CLOCK_CHECK], settings),

  async afterOpen(runner, subject, resources) {
    const options = bucketOptions(subject.settings, { warn() {}, onRetry() {} });
    const bucket = resources.adopt(openBucket(options), ({ client }) => client.close());
    await runner.run(BUCKET_CHECKS, { ...subject, bucket });
  },

  advise,
};

/** A bucket, accessed without the rules and layers of the store. */
interface BucketSubject extends StoreSubject<S3Settings> {
  readonly bucket: Bucket;
}

/** Seconds of clock difference that are tolerated. Stores refuse requests from 15 minutes on. */
const CLOCKS = 60;

/** Runs before the bucket is opened as a store, because a wrong clock might be the reason that opening fails. */
const CLOCK_CHECK: Check<S3Settings> = {
  name: 'bucket-clock',
  timeout: 10_000,
  async run(settings, signal) {
    // The request is unsigned and refused; the response still contains the time.
    const answer = await sendRequest(new URL(endpointOf(settings)).origin, `/${settings.S3_BUCKET}`, {
      method: 'HEAD',
      signal,
    }).catch(() => undefined);
    const ahead = Math.round((Date.parse(answer?.headers.date ?? '') - Date.now()) / 1000);
    if (Number.isNaN(ahead)) return notTried('The store did not respond, or its response has no Date header.');
    if (Math.abs(ahead) < CLOCKS) return ok('The clocks of this machine and of the store agree.');
    return warning(
      `The clock of the store is ${Math.abs(ahead)} seconds ${ahead > 0 ? 'ahead of' : 'behind'} the clock of this machine. Presigned URLs expire too early or too late, and from 15 minutes on the store rejects all requests.`,
      'Correct the wrong clock. On this machine: timedatectl set-ntp true',
    );
  },
  explain: (error, settings) => advise(error, settings, []),
};

/** Checks of a bucket that need the probe. */
const BUCKET_CHECKS: readonly Check<BucketSubject>[] = [
  {
    name: 'bucket-conditions',
    needs: 'store-write',
    writes: true,
    async run({ bucket, probe }, signal) {
      const key = childFile(probe, PLAIN_NAME);
      let isUnsupported = false;
      const refuses = async (request: Promise<unknown>) => {
        try {
          await request;
          return false;
        } catch (error) {
          isUnsupported = isStoreError(error, 'unsupported');
          if (!isUnsupported && !isStoreError(error, 'condition-failed')) throw error;
          return !isUnsupported;
        }
      };
      const attributes = { 'content-type': 'text/plain' };
      const refusesPut = (condition: ConditionHeaders) =>
        refuses(putObject(bucket, key, SMALL, { attributes, condition, signal }));
      if (!(await refusesPut(IF_ABSENT))) {
        if (isUnsupported) return warning(UNSUPPORTED, CONDITIONS);
        return warning(
          'The store ignores If-None-Match: an upload, copy or move can replace a file that another client creates at the same moment.',
          CONDITIONS,
        );
      }
      if (!(await refusesPut({ 'if-match': quote(OTHER_ETAG) }))) {
        if (isUnsupported) return warning(UNSUPPORTED, CONDITIONS);
        return warning(
          'The store ignores If-Match: if two clients change a file at the same moment, one change can be lost.',
          CONDITIONS,
        );
      }
      const isOfSource = await refuses(
        copyObject(bucket, childFile(probe, 'raw-copy.txt'), { key, ifMatch: OTHER_ETAG }, {}),
      );
      const found = 'The store supports conditions on PutObject';
      return ok(
        isOfSource
          ? `${found} and CopyObject.`
          : `${found}, but not on CopyObject. Ceph behaves this way too: docs/reference/stores-s3.md, "Conditional writes".`,
      );
    },
    explain: adviseOn('write'),
  },
  {
    name: 'bucket-copy-names',
    needs: 'store-write',
    writes: true,
    async run(subject, signal) {
      const { files, probe } = subject;
      const [from, to] = ['odd a+b%25 & é', 'odd copy'] as const;
      // Copies several files, because a store without key order can still copy a folder of one file.
      for (const name of [HOSTILE_NAME, PLAIN_NAME]) await writeProbe(subject, `${from}/${name}`, SMALL, { signal });
      await files.copyFolder(childFolder(probe, from), childFolder(probe, to), { replace: false, signal });
      if (SMALL.equals(await readProbe(subject, `${to}/${HOSTILE_NAME}`, { signal }))) {
        return ok('Copied a folder with spaces, "+", "%" and "&" in names (CopyObject).');
      }
      return failed('A file in a copied folder has different bytes than its source.', COPIES);
    },
    explain: explainCopy,
  },
  {
    name: 'bucket-copy-large',
    needs: 'store-large',
    writes: true,
    timeout: 120_000,
    async run(subject, signal) {
      const { files, probe } = subject;
      const [copy, moved] = ['large copy.txt', 'large moved.txt'] as const;
      await files.copyFile(parseFile(probe + LARGE_NAME), childFile(probe, copy), { replace: false, signal });
      await files.moveFile(childFile(probe, copy), childFile(probe, moved), { replace: false, signal });
      if (LARGE.equals(await readProbe(subject, moved, { signal }))) {
        return ok('Copied and moved a file of 9 MiB (UploadPartCopy).');
      }
      return failed('A copied file of 9 MiB has different bytes than its source.', COPIES);
    },
    explain: explainCopy,
  },
  {
    name: 'bucket-checksums',
    needs: 'store-write',
    writes: true,
    async run({ bucket, probe }, signal) {
      // The checksum of different content.
      const attributes = { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' };
      try {
        await putObject(bucket, childFile(probe, 'checksum.txt'), SMALL, { attributes, signal });
      } catch (error) {
        const code = codeOf(error instanceof Error && error.cause !== undefined ? error.cause : error);
        if (code !== 'BadDigest' && code !== 'InvalidDigest' && code !== 'XAmzContentChecksumMismatch') throw error;
        return ok('The store rejects uploads with a wrong checksum (Content-MD5).');
      }
      return warning(
        'The store accepted an upload with a wrong checksum (Content-MD5), so it would not detect corrupted uploads.',
        'Use https:// in S3_ENDPOINT, which detects corruption, and check for a proxy in front of the store that drops Content-MD5.',
      );
    },
    explain: adviseOn('write'),
  },
  {
    name: 'bucket-leftovers',
    async run({ bucket }, signal) {
      const lacking = warning(
        'No lifecycle rule removes the parts of interrupted uploads. They appear in no listing and cost as much as files.',
        `Set the rule "abort-incomplete-uploads" from docs/how-to/stores/s3.md: aws s3api put-bucket-lifecycle-configuration --bucket ${bucket.name} --lifecycle-configuration file://lifecycle.json (MinIO needs none).`,
      );
      try {
        return (await abortsIncompleteUploads(bucket, { signal }))
          ? ok('A lifecycle rule removes the parts of interrupted uploads.')
          : lacking;
      } catch (error) {
        if (codeOf(error instanceof Error ? error.cause : undefined) === 'NoSuchLifecycleConfiguration') return lacking;
        signal.throwIfAborted();
        return notTried(
          'The key lacks s3:GetLifecycleConfiguration, so the lifecycle rules were not checked. Holdall works without it.',
        );
      }
    },
    explain: adviseOn(),
  },
  {
    name: 'bucket-versions',
    async run({ bucket }, signal) {
      try {
        const versioning = await getVersioning(bucket, { signal });
        if (versioning === 'Enabled') return ok('The bucket keeps replaced files as object versions.');
      } catch {
        signal.throwIfAborted();
        return ok(
          'Holdall keeps replaced files as copies: the store has no object versions, or the key lacks s3:GetBucketVersioning.',
        );
      }
      return ok('The bucket has no object versions, so Holdall keeps replaced files as copies.');
    },
    explain: adviseOn(),
  },
  {
    name: 'bucket-presigned',
    needs: 'store-write',
    async run({ store, probe }, signal) {
      const path = childFile(probe, HOSTILE_NAME);
      const { origin, target } = await presign(store, await store.stat(path, { signal }));
      const answer = await sendRequest(origin, target, { headers: { range: 'bytes=100-199' }, signal });
      if (answer.status !== 206 || !answer.body.equals(SMALL.subarray(100, 200))) {
        return failed(
          `A range request for 100 bytes of a presigned URL returned ${answer.body.length} bytes with the status ${answer.status}.`,
          'Browsers fetch files of 6 MB and more from such URLs. Proxies in front of the store must not change Host, path, query or Range.',
        );
      }
      if (answer.headers['content-disposition'] === attachmentHeader(path)) {
        return ok(`Presigned URLs at ${origin} return ranges and the file name.`);
      }
      return warning(
        'Presigned URLs ignore response-content-disposition: browsers name downloads after the last segment of the URL.',
        'Update the store, or use one that supports response-content-disposition.',
      );
    },
    explain: adviseOn('read'),
  },
  {
    name: 'bucket-address',
    concerns: ({ pageOrigin }) => pageOrigin !== undefined,
    async run({ opened, pageOrigin = '' }) {
      const [origin = ''] = opened.contentOrigins;
      const [page, store] = [new URL(pageOrigin), new URL(origin)];
      const advice = 'Set S3_ENDPOINT to an https:// URL of the store that all users can reach.';
      if (page.protocol === 'https:' && store.protocol === 'http:') {
        return failed(
          `Files of 6 MB and more come from ${origin}, without HTTPS: the web UI on HTTPS can't load them.`,
          advice,
        );
      }
      if (isInternal(store.hostname) && !isInternal(page.hostname)) {
        return failed(
          `Files of 6 MB and more come from ${origin}, which only this machine or network can reach.`,
          advice,
        );
      }
      return ok(`Files of 6 MB and more come from ${origin}. All users must be able to reach it.`);
    },
    explain: () => 'Check S3_ENDPOINT.',
  },
  {
    name: 'bucket-cors',
    needs: 'bucket-presigned',
    concerns: ({ pageOrigin }) => pageOrigin !== undefined,
    async run({ store, probe, bucket, pageOrigin = '', settings }, signal) {
      const entry = await store.stat(childFile(probe, PLAIN_NAME), { signal });
      const { origin, target } = await presign(store, entry);
      const allows = async (method: 'GET' | 'PUT', header: string) => {
        const asked = { 'access-control-request-method': method, 'access-control-request-headers': header };
        const request = { method: 'OPTIONS', headers: { origin: pageOrigin, ...asked }, signal };
        const { status, headers } = await sendRequest(origin, target, request);
        const allowed = headers['access-control-allow-origin'];
        return status < 300 && (allowed === '*' || allowed === pageOrigin);
      };
      const advice = `Set the rules of "Large files and browsers" in docs/how-to/stores/s3.md with "AllowedOrigins": ["${pageOrigin}"]: aws s3api put-bucket-cors --bucket ${bucket.name} --cors-configuration file://cors.json`;
      if (!(await allows('GET', 'range'))) {
        return warning(
          `No CORS rule of the bucket allows ${pageOrigin} to read large files: text, code, CSV and JSON files of 6 MB and more have no preview.`,
          advice,
        );
      }
      const reading = `The CORS rules of the bucket allow ${pageOrigin} to read large files`;
      if (!settings.UPLOAD_DIRECT || settings.READ_ONLY) return ok(`${reading}.`);
      if (await allows('PUT', 'content-md5')) return ok(`${reading}, and to upload them directly.`);
      return warning(
        `${reading}, but not to upload them directly: uploads pass through the service.`,
        `${advice} To upload through the service, set UPLOAD_DIRECT=false.`,
      );
    },
    explain: adviseOn('read'),
  },
  {
    name: 'bucket-public',
    needs: 'store-write',
    concerns: ({ settings }) => settings.S3_PUBLIC_URL !== undefined,
    async run({ settings, probe }, signal) {
      const { origin, pathname } = new URL(settings.S3_PUBLIC_URL ?? '');
      const target = `${pathname.replace(/\/$/, '')}/${encodeKey((settings.S3_PREFIX ?? '') + probe + HOSTILE_NAME)}`;
      const { status, body } = await sendRequest(origin, target, { signal });
      if (status === 200 && body.equals(SMALL)) return ok('S3_PUBLIC_URL serves the files of the bucket.');
      return failed(
        `S3_PUBLIC_URL returned the status ${status} for a file in the bucket.`,
        'Make the bucket public at that URL, or remove S3_PUBLIC_URL.',
      );
    },
    explain: () => 'Correct or remove S3_PUBLIC_URL.',
  },
  {
    name: 'bucket-abilities',
    needs: 'store-write',
    async run({ warnings }) {
      const lacks = warnings.filter(isMissingCapability);
      if (lacks.length === 0) return ok('The store supports all requests of Amazon S3 that Holdall uses.');
      return warning(lacks.join(' '), 'See docs/reference/stores-s3.md, "Limits", for what is safe with this store.');
    },
    explain: adviseOn('write'),
  },
];

/** The permissions that actions need. */
const PERMISSIONS: Readonly<Record<StoreAction, string>> = {
  list: 's3:ListBucket',
  read: 's3:GetObject',
  write: 's3:PutObject',
  'write in parts': 's3:AbortMultipartUpload',
  delete: 's3:DeleteObject',
};

function advise(
  error: unknown,
  { S3_BUCKET: bucket, S3_PREFIX: prefix = ROOT }: S3Settings,
  actions: readonly StoreAction[],
): string {
  const known = findAdvice(error, ADVICE) ?? networkAdvice(error, UNKNOWN_HOST);
  if (known !== undefined) return known;
  if (isStoreError(error, 'denied') && actions.length > 0) {
    const permissions = new Intl.ListFormat('en-GB').format(actions.map((action) => PERMISSIONS[action]));
    return `Give the key in S3_ACCESS_KEY_ID the permission ${permissions} on arn:aws:s3:::${bucket}/${prefix}* (on R2 "Object Read & Write" for ${bucket}). See docs/how-to/stores/aws-s3.md for the whole policy.`;
  }
  return 'See docs/how-to/stores/s3-problems.md.';
}

const ADVICE: AdviceTable = {
  'bucket-not-found':
    'Set S3_BUCKET to a bucket of this account. On R2, also check the account and the jurisdiction in S3_ENDPOINT.',
  'invalid-bucket-name': 'Set S3_BUCKET to the bucket name only.',
  'unknown-access-key':
    'Set S3_ACCESS_KEY_ID to the ID of a key of this store, and check that S3_ENDPOINT is the store that issued the key.',
  'wrong-secret-key':
    'Copy the secret of S3_ACCESS_KEY_ID into S3_SECRET_ACCESS_KEY again. In .env, quote a value that contains #. If the secret is correct, check for a proxy in front of the store that changes Host or the path.',
  'expired-access-key':
    'Set S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY and S3_SESSION_TOKEN to new credentials, or use a long-term access key without a session token.',
  'credentials-missing':
    'Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or give this machine a role: docs/how-to/stores/aws-s3.md, "AWS credentials".',
  'clock-skew': 'Set the clock: timedatectl set-ntp true',
  'wrong-region':
    'Set S3_REGION to the region of the bucket, and S3_ENDPOINT to the address of that region, or remove S3_ENDPOINT for AWS.',
  'list-permission-missing':
    'Give the key in S3_ACCESS_KEY_ID the permission s3:ListBucket on the bucket itself, not on /* (on R2 "Object Read & Write").',
  'unexpected-store-response': 'Set S3_ENDPOINT to the URL of the S3 API, not of the web console.',
  'store-full': 'Free space in the store, or raise its quota.',
};

const UNKNOWN_HOST =
  'Correct the host in S3_ENDPOINT or S3_REGION; with S3_ADDRESSING=virtual, DNS needs a wildcard record for it.';

/** Returns advice for a failed copy: for stores that can't copy, or the usual advice. */
function explainCopy(error: unknown, subject: BucketSubject): string {
  return isStoreError(error, 'unsupported') || isStoreError(error, 'not-found')
    ? COPIES
    : subject.advise(error, ['read', 'write']);
}

const UNSUPPORTED =
  'The store does not support conditions on PutObject (501): Holdall checks the destination before each write, but replaces a file that is created after the check.';

const COPIES = 'Use another store, or a newer version: on this one, copies, moves and renames fail.';

const CONDITIONS =
  'Use a store that supports conditional writes, or let only one client at a time write to a file: docs/reference/stores-s3.md, "Conditional writes".';

async function presign(store: StoreSubject['store'], file: Awaited<ReturnType<typeof store.stat>>) {
  const url = new URL((await store.presign?.(file, { expires: 60, download: true, purpose: 'read' })) ?? '');
  return { origin: url.origin, target: url.pathname + url.search };
}

/** Returns whether a hostname or IP address is this machine or in a private network. */
function isInternal(host: string): boolean {
  if (isLoopback(host)) return true;
  return /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[f[cd]|[^.]+$)|\.(local|internal|lan|svc)$/.test(host);
}
