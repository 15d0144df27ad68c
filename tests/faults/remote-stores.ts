import { atEnd, type Owner } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOf, settingsOfRepository } from '../../testing/servers/settings.ts';
import { MIB } from './pattern.ts';

/** Creates a bucket that is removed with its owner. Returns the settings of a service on it. */
export async function openTestBucket(owner: Owner): Promise<Readonly<Record<string, string>>> {
  const bucket = await createBucket();
  atEnd(owner, () => bucket.remove());
  return settingsOf(bucket);
}

/** Creates a repository that is removed with its owner. Returns the settings of a service on it. */
export async function openTestRepository(owner: Owner): Promise<Readonly<Record<string, string>>> {
  const hosted = await hostRepository({ files: { 'README.md': 'text' } });
  atEnd(owner, () => hosted.remove());
  return settingsOfRepository(hosted);
}

/** Bytes: close to the maximum size of a file in a repository, and not a multiple of the block size of Base64. */
export const LARGEST_TEST_FILE = 90 * MIB + 12_345;
