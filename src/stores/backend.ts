import type { Check, Runner } from '../checks/check.ts';
import type { Files } from '../files/files.ts';
import type { NameComparison } from '../model/name-comparison.ts';
import type { FolderPath } from '../model/path.ts';
import type { Capability, Store } from '../model/store.ts';
import type { Requirement, SettingGroup, ValuesOf } from '../settings/setting.ts';
import type { StoreLog } from './network.ts';

/**
 * Describes a backend: its settings, how it is opened, and its checks. The file of a descriptor is loaded at every start,
 * so it imports only declarations. `open` and `checks` import the code of the backend when it is selected.
 */
export interface Backend<Group extends SettingGroup> {
  /** The values of `STORAGE_TYPE` that select this backend, each with a noun phrase for the help text. */
  readonly types: Readonly<Record<string, string>>;
  readonly settings: Group;
  /** Rules between settings, applied if this backend is selected. */
  readonly requirements?: readonly Requirement<SettingsOf<Group>>[];
  /** Defaults of general settings that differ if this backend is selected. */
  readonly defaults?: Readonly<Partial<Record<keyof ServiceSettings, string>>>;
  /** The setting with the local folder that the backend serves, if any. Holdall's own files must be outside it. */
  readonly folderSetting?: TextNames<Group>;
  /** The optional members of its stores: exactly these. */
  readonly capabilities: readonly Capability[];
  /** Returns the folder for persistent state on this machine, without opening the store. */
  stateFolder(settings: SettingsOf<Group>): string;
  /**
   * Opens the store. The settings are valid, and the required ones are set. `place`: that of the store which another process of
   * this service has opened. Throws `store-unreachable` if it is another one.
   */
  open(settings: SettingsOf<Group>, log: StoreLog, place?: string): Promise<OpenedStore>;
  /** Loads the checks of `holdall doctor` for this backend. */
  loadChecks(): Promise<BackendChecks<SettingsOf<Group>>>;
}

/** The names of the settings that always have a text. */
type TextNames<Group extends SettingGroup> = {
  [Name in keyof Group & string]: ValuesOf<Group>[Name] extends string ? Name : never;
}[keyof Group & string];

/** The general settings that backends can read. */
export interface ServiceSettings {
  readonly STORAGE_TYPE: string;
  readonly READ_ONLY: boolean;
  readonly UPLOAD_DIRECT: boolean;
  readonly WORKERS: number;
  readonly UV_THREADPOOL_SIZE: number;
  readonly CACHE_DIR: string | undefined;
  readonly STATE_DIR: string | undefined;
  readonly SIGNING_KEY: Buffer | undefined;
}

/** The settings that a backend can read: its own and the general ones. */
export type SettingsOf<Group extends SettingGroup> = ValuesOf<Group> & ServiceSettings;

/** An open store and its properties. */
export interface OpenedStore {
  readonly store: Store;
  /** Readable name of the served folder, bucket or branch. */
  readonly name: string;
  /** Identifies the served folder. Another folder can get its path, for example when a disk is unmounted. */
  readonly place?: string;
  /** Whether the service streams large files itself, by signed URLs, because the store has no presigned URLs. */
  readonly streamsLargeFiles?: boolean;
  /** Whether the store reads files of this machine, so that caching small parts of them saves nothing. */
  readonly isLocal?: boolean;
  /** How the store compares names. */
  readonly names: NameComparison;
  /** Origins of the download URLs that the store returns, other than the service itself. */
  readonly contentOrigins: readonly string[];
  /** Whether the store retries temporary failures and enforces timeouts itself. */
  readonly retriesInternally: boolean;
  /** Seconds after which a change is visible in other processes. Default: 0 */
  readonly maxStalenessSeconds?: number;
  /** Default folder for caches. Its content can be recreated. */
  readonly cacheFolder: string;
  /** Folder for persistent state: `Backend.stateFolder`. */
  readonly stateFolder: string;
  /** Returns the key for sessions and for URLs that the service signs: `SIGNING_KEY`, or a key stored in a file. */
  signingKey(): Promise<Buffer>;
}

/** The checks of a backend. */
export interface BackendChecks<Settings> {
  /** Name of the check that must succeed before the store is opened. */
  readonly requiredToOpen?: string;
  /** Runs the checks that don't need an open store. */
  beforeOpen?(runner: Runner, settings: Settings): Promise<void>;
  /** Runs the checks of the open store. `resources` closes everything that they open. */
  afterOpen?(runner: Runner, subject: StoreSubject<Settings>, resources: AsyncDisposableStack): Promise<void>;
  /** Returns advice for an error of the store. `actions` are those that the failed check needs. */
  advise(error: unknown, settings: Settings, actions: readonly StoreAction[]): string;
}

/** What a check does with the store, for advice on permissions. */
export type StoreAction = 'list' | 'read' | 'write' | 'write in parts' | 'delete';

/** An open store, and the probe folder in it. */
export interface StoreSubject<Settings = ServiceSettings> {
  readonly settings: Settings;
  readonly opened: OpenedStore;
  readonly store: Store;
  readonly files: Files;
  readonly probe: FolderPath;
  /** Warnings that the store has logged so far. */
  readonly warnings: readonly string[];
  /** Origin of the web UI, if it is known. */
  readonly pageOrigin: string | undefined;
  /** Returns advice for an error of the store. */
  advise(error: unknown, actions: readonly StoreAction[]): string;
}

/** A check of an open store. */
export type StoreCheck<Settings = ServiceSettings> = Check<StoreSubject<Settings>>;

/** Returns the `explain` of a check that needs `actions` on the store. */
export function adviseOn(
  ...actions: readonly StoreAction[]
): (error: unknown, subject: Pick<StoreSubject, 'advise'>) => string {
  return (error, subject) => subject.advise(error, actions);
}
