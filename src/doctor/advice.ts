import type { Config } from '../config/config.ts';
import { isStoreError } from '../model/error.ts';

/** The settings, which the advice depends on. */
interface Configured {
  readonly config: Config;
}

/**
 * Returns a function that gives advice for a store error. `permissions` are those that the check needs on a bucket.
 */
export function adviceFor(permissions: string): (error: unknown, subject: Configured) => string {
  return (error, { config }) => {
    const { message } = error instanceof Error ? error : { message: '' };
    const known = KNOWN.find(([text]) => message.includes(text))?.[1];
    if (known !== undefined) return known;
    if (isStoreError(error, 'denied')) return grant(config, permissions);
    return `Look at ${PAGE[config.STORAGE_TYPE]}`;
  };
}

function grant({ STORAGE_TYPE, S3_BUCKET: bucket, DISK_ROOT }: Config, permissions: string): string {
  switch (STORAGE_TYPE) {
    case 'disk':
      return `Let the user ${process.getuid?.() ?? ''} that runs this read and write ${DISK_ROOT} and all below it: chown -R ${process.getuid?.() ?? 'USER'} ${DISK_ROOT}; and see that it is not mounted read-only: mount -o remount,rw`;
    case 's3':
    case 'r2':
      return `Give the key in S3_ACCESS_KEY_ID the permission ${permissions} on arn:aws:s3:::${bucket}/* (on R2 "Object Read & Write" for ${bucket}): docs/stores/s3.md has the whole policy.`;
    case 'github':
      return 'Give the token in GITHUB_TOKEN the permission "Contents: read and write", and let its owner past the rules of GITHUB_BRANCH, or serve another branch.';
  }
}

/** Parts of error messages of stores, with the advice for each. */
const KNOWN: readonly (readonly [string, string])[] = [
  [
    'There is no bucket',
    'Set S3_BUCKET to the name of a bucket of this account; on R2 look at the account, and the jurisdiction, in S3_ENDPOINT.',
  ],
  ['is not the name of a bucket', 'Set S3_BUCKET to the name of the bucket alone.'],
  [
    'does not know the access key',
    'Set S3_ACCESS_KEY_ID to the id of a key of this store, and see that S3_ENDPOINT is where the key was made.',
  ],
  [
    'refuses the signature',
    'Copy the secret that belongs to S3_ACCESS_KEY_ID into S3_SECRET_ACCESS_KEY once more; in .env, a value with a # wants quotes. If it is right, a proxy before the store changes Host or the path.',
  ],
  [
    'is a temporary one, or has expired',
    'Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY to the key of a user, without a session token.',
  ],
  ['The clock of this machine', 'Set the clock: timedatectl set-ntp true'],
  [
    'The bucket is in another region',
    'Set S3_REGION to the region of the bucket, and S3_ENDPOINT to the address of that region, or take S3_ENDPOINT away for AWS.',
  ],
  [
    'it needs s3:ListBucket',
    'Give the key in S3_ACCESS_KEY_ID the permission s3:ListBucket on the bucket itself, not on /* (on R2 "Object Read & Write").',
  ],
  [
    'does not answer as an object store does',
    'Set S3_ENDPOINT to the address of the S3 interface, which is another one than that of the console.',
  ],
  ['The object store is full', 'Make room in the store, or have its quota raised.'],
  [
    'has a name that nobody knows',
    'Correct the host in S3_ENDPOINT, S3_REGION or GITHUB_API_URL; with S3_ADDRESSING=virtual, the DNS needs a wildcard for it.',
  ],
  [
    "can't be talked to safely",
    'Use the name that the certificate is for, and http:// for a port without HTTPS; for an authority of your own set NODE_EXTRA_CA_CERTS to its certificate.',
  ],
  ["can't be reached", 'Start what should listen there, correct the host and port, and let a firewall pass it.'],
  ['did not answer in time', 'Correct the host and port, and let a firewall pass it.'],
  ['The disk is full', 'Make room where DISK_ROOT is.'],
  ['does not take the token', 'Make a new token, and set GITHUB_TOKEN to it.'],
  [
    'The token in GITHUB_TOKEN may not write',
    'Give the token in GITHUB_TOKEN the permission "Contents: read and write", or set READ_ONLY=true.',
  ],
  ['is archived', 'Unarchive the repository, or set READ_ONLY=true.'],
  [
    'There is no repository',
    'Correct GITHUB_OWNER and GITHUB_REPO, and add the repository to the "Repository access" of the token in GITHUB_TOKEN.',
  ],
  ['has no branch', 'Set GITHUB_BRANCH to a branch that is there, or GITHUB_CREATE_BRANCH=true.'],
  [
    'refuses the change to the branch',
    'Let the owner of the token past the rules of GITHUB_BRANCH, or set GITHUB_BRANCH to a branch without such rules.',
  ],
  [
    'takes no more requests for now',
    'Wait until GitHub takes requests again, which the message says, or use a token with a larger quota.',
  ],
];

const PAGE = {
  disk: 'docs/settings.md, DISK_ROOT, and at the disk itself: dmesg',
  s3: 'docs/stores/s3.md, "When something is wrong"',
  r2: 'docs/stores/s3.md, "When something is wrong"',
  github: 'docs/stores/github.md, "When something is wrong"',
} as const satisfies Record<Config['STORAGE_TYPE'], string>;
