import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Store } from '../domain/store.ts';
import type { UrlSigner } from '../domain/url-signer.ts';
import { openDisk } from './disk/disk.ts';

/** A store as the settings have it, and what comes with it. */
export interface OpenedStore {
  readonly store: Store;
  /** What is served, as a person would name it. */
  readonly name: string;
  /** Checks the store's presigned URLs, where it is for the service to answer them. */
  readonly signer?: UrlSigner;
  /** Where to keep what can be made again, if nobody says otherwise. */
  readonly cacheFolder: string;
}

/** Opens the store that is configured: the only list of backends. */
export async function openStore(
  config: Config,
  warn: (message: string, details: object) => void,
): Promise<OpenedStore> {
  switch (config.STORAGE_TYPE) {
    case 'disk': {
      const { store, signer, ownFolder, root } = await openDisk({
        root: config.DISK_ROOT,
        signingKey: config.SIGNING_KEY,
        warn,
      });
      return { store, signer, name: root, cacheFolder: join(ownFolder, 'cache') };
    }
  }
}
