import { createHash } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SettingsError } from '../settings/setting.ts';
import type { OpenedStore, ServiceSettings } from './backend.ts';
import { loadSigningKey } from './signing-key-file.ts';

/**
 * Returns the local folders and the key of a remote store. `name` identifies the store, so that each one has folders of
 * its own.
 */
export function localFoldersOf(
  name: string,
  { STATE_DIR, SIGNING_KEY }: ServiceSettings,
): Pick<OpenedStore, 'cacheFolder' | 'stateFolder' | 'signingKey'> {
  const id = createHash('sha256').update(name).digest('hex').slice(0, 16);
  const stateFolder = STATE_DIR ?? join(homedir(), '.local', 'state', 'holdall', id);
  return {
    cacheFolder: join(homedir(), '.cache', 'holdall', id),
    stateFolder,
    signingKey: async () => SIGNING_KEY ?? loadKeyFrom(stateFolder),
  };
}

/** Returns the key in a state folder. Throws a `SettingsError` if the folder can't be used. */
export async function loadKeyFrom(stateFolder: string): Promise<Buffer> {
  try {
    return await loadSigningKey(stateFolder);
  } catch (error) {
    throw unusableState(stateFolder, error);
  }
}

/** Returns a settings error for the operator: why the folder can't store state. */
export function unusableState(folder: string, error: unknown): SettingsError {
  const reason = error instanceof Error ? error.message : String(error);
  return new SettingsError([`STATE_DIR ${folder} can't be used: ${reason}. Example: STATE_DIR=/var/lib/holdall`]);
}
