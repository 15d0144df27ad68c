import { computed, effect } from '@preact/signals';
import { createFolder, type Folder } from '../../../web/src/model/folder/folder.ts';
import { createSelection, type Selection } from '../../../web/src/model/selection.ts';
import { createPreferences, type Preferences } from '../../../web/src/platform/preferences.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { createEnglish } from './languages.ts';
import { createMemoryService } from './upload-service.ts';

export interface FolderSceneOptions {
  /** The stored files by path; a path that ends with "/" is an empty folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** The path of the shown folder. */
  readonly shown?: string;
  /** Replaces members of the service. */
  readonly override?: (service: Service) => Partial<Service>;
}

/** The models of a shown folder, on a service in memory. */
export interface FolderScene {
  readonly folder: Folder;
  readonly selection: Selection;
  readonly preferences: Preferences;
  /** The names of the shown entries, from top to bottom. */
  shown(): readonly string[];
  /** The paths of the selected entries, from top to bottom. */
  selected(): readonly string[];
}

export async function createFolderScene({
  files = {},
  shown = '',
  override = () => ({}),
}: FolderSceneOptions = {}): Promise<FolderScene> {
  const memory = createMemoryService(files);
  const service: Service = { ...memory.service, ...override(memory.service) };
  const preferences = createPreferences(undefined);
  const language = await createEnglish();
  const compareNames = computed(() => language.value.formats.compareNames);
  const response = await service.list(shown);
  const folder = createFolder(service, { order: preferences.order, compareNames }, { path: shown, response });
  const selection = createSelection(folder);
  return {
    folder,
    selection,
    preferences,
    shown: () => folder.entries.value.map(({ name }) => name),
    selected: () => selection.entries.value.map(({ path }) => path),
  };
}

/** Resolves when the folder is completely loaded. */
export function settled(folder: Folder): Promise<void> {
  return when(() => folder.listing.value === 'complete' && folder.state.value === 'ready');
}

/** Resolves when `condition`, which reads signals, returns true. */
export function when(condition: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = effect(() => {
    if (condition()) resolve();
  });
  return promise.finally(stop);
}
