import type { Backend, OpenedStore, ServiceSettings } from './backend.ts';
import { DISK } from './disk/backend.ts';
import { GITHUB } from './github/backend.ts';
import type { StoreLog } from './network.ts';
import { S3 } from './s3/backend.ts';

/** The settings of all backends. */
export const BACKEND_SETTINGS = { ...DISK.settings, ...S3.settings, ...GITHUB.settings } as const;

/** A backend that receives the settings of all backends. It reads only its own. */
export type RegisteredBackend = Omit<Backend<typeof BACKEND_SETTINGS>, 'settings'> & {
  readonly settings: Partial<typeof BACKEND_SETTINGS>;
};

/** All backends. This file is the only list of them. */
export const BACKENDS: readonly RegisteredBackend[] = [DISK, S3, GITHUB];

/** The values of `STORAGE_TYPE`, each with a noun phrase that describes it. */
export const STORAGE_TYPES = { ...DISK.types, ...S3.types, ...GITHUB.types } as const;

/** A value of `STORAGE_TYPE`. */
export type StorageType = keyof typeof STORAGE_TYPES;

/** Returns the backend for a value of `STORAGE_TYPE`; undefined for an unknown one. */
export function findBackend(type: string | undefined): RegisteredBackend | undefined {
  return BACKENDS.find(({ types }) => type !== undefined && Object.hasOwn(types, type));
}

/** Returns the backend for a valid `STORAGE_TYPE`. */
export function backendOf({ STORAGE_TYPE: type }: Pick<ServiceSettings, 'STORAGE_TYPE'>): RegisteredBackend {
  const backend = findBackend(type);
  if (!backend) throw new Error(`STORAGE_TYPE=${type} has no backend.`);
  return backend;
}

/** Opens the configured store. Loads only the modules of its backend. */
export async function openStore(
  settings: Parameters<RegisteredBackend['open']>[0],
  log: StoreLog,
  place?: string,
): Promise<OpenedStore> {
  return backendOf(settings).open(settings, log, place);
}
