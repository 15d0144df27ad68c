import { batch, signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { MediaList } from '../../../../src/http/schemas.ts';
import { hasThumbnail } from '../../platform/file-kinds.ts';
import type { Entry, FileEntry, Service } from '../../platform/service/service.ts';
import { useFolder, useService } from '../models.ts';
import type { LoaderProps } from './entry-view.ts';
import { type PhotoSource, TYPICAL_ASPECT } from './photo-layout.ts';

type MediaItem = MediaList['items'][number];

/** What is known of a photo; null if the service knows nothing. */
type Details = MediaItem | null;

/** The photos that the page knows, by `keyOf`. Replaced with each batch, so that the layout follows. */
export const PHOTO_DETAILS = signal<ReadonlyMap<string, Details>>(new Map());

/** The number of photos that are remembered. More are forgotten when another folder is opened. */
const MAX_REMEMBERED = 50_000;
/** The photos of one request. The first one is shorter, because the page waits for it. */
const FIRST_BATCH = 50;
const BATCH = 500;

const keyOf = ({ path, etag }: FileEntry) => `${etag} ${path}`;

/** The details of the last known version of each path. They apply until those of a new version are known, so that a rotated photo stays. */
let lastDetails: ReadonlyMap<string, Details> = new Map();

function detailsOf(entry: FileEntry): Details | undefined {
  const known = PHOTO_DETAILS.peek().get(keyOf(entry));
  return known === undefined ? lastDetails.get(entry.path) : known;
}

/** Without details, photos have the aspect ratio of most cameras, and the time of the file. */
export const PHOTO_SOURCE: PhotoSource = {
  aspectOf(entry) {
    if (!hasThumbnail(entry)) return undefined;
    const details = detailsOf(entry);
    return details ? details.width / details.height : TYPICAL_ASPECT;
  },
  timeOf: (entry) => (hasThumbnail(entry) ? timeOf(entry) : ''),
};

function timeOf(entry: FileEntry): string {
  const takenAt = detailsOf(entry)?.takenAt;
  if (takenAt !== undefined) return takenAt.slice(0, 19);
  return entry.modified === null ? '' : localTime(new Date(entry.modified));
}

function localTime(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return Number.isNaN(local.getTime()) ? '' : local.toISOString().slice(0, 19);
}

/** Sorts the folder by the times of its photos, and requests their details: first those that are visible. */
export function PhotoLoader({ entries, first }: LoaderProps) {
  const folder = useFolder();
  const service = useService();
  const visible = useRef(first);
  visible.current = first;
  const latest = useRef(entries);
  latest.current = entries;

  const sort = () => {
    // Photos that a filter hides keep their times, so that they are in order when they return.
    const before = folder.photoTimes.peek() ?? [];
    const photos = latest.current.filter((entry) => hasThumbnail(entry));
    folder.photoTimes.value = new Map([...before, ...photos.map((entry) => [entry.path, timeOf(entry)] as const)]);
  };
  useEffect(sort, [membersOf(entries)]);
  useEffect(
    () => () => {
      folder.photoTimes.value = null;
    },
    [],
  );

  useEffect(() => {
    const ending = new AbortController();
    const next = () => unknownPhotos(latest.current, visible.current);
    void loadAll(service, { next, sort, ending: ending.signal });
    return () => ending.abort();
  }, [membersOf(entries)]);
  return null;
}

/** Returns a value that changes when other entries are shown, but not when they are sorted. */
function membersOf(entries: readonly Entry[]): string {
  const last = memberships.get(entries);
  if (last !== undefined) return last;
  let sum = 0;
  for (const entry of entries) {
    if (!hasThumbnail(entry)) continue;
    let hash = 0;
    for (const character of keyOf(entry)) hash = (Math.imul(hash, 31) + (character.codePointAt(0) ?? 0)) | 0;
    sum = (sum + hash) | 0;
  }
  const members = `${entries.length} ${sum}`;
  memberships.set(entries, members);
  return members;
}

const memberships = new WeakMap<readonly Entry[], string>();

/** Returns the photos without details, beginning with the visible ones. */
function unknownPhotos(entries: readonly Entry[], first: number): readonly FileEntry[] {
  const known = PHOTO_DETAILS.peek();
  const fromVisible = [...entries.slice(first), ...entries.slice(0, first)];
  return fromVisible.filter((entry) => hasThumbnail(entry)).filter((entry) => !known.has(keyOf(entry)));
}

interface Loading {
  /** Returns the photos whose details to request next. */
  readonly next: () => readonly FileEntry[];
  /** Sorts the folder by the details that are known. */
  readonly sort: () => void;
  readonly ending: AbortSignal;
}

async function loadAll(service: Service, { next, sort, ending }: Loading): Promise<void> {
  if (PHOTO_DETAILS.peek().size > MAX_REMEMBERED) {
    lastDetails = new Map();
    PHOTO_DETAILS.value = new Map();
  }
  for (let size = FIRST_BATCH; !ending.aborted; size = BATCH) {
    const photos = next().slice(0, size);
    if (photos.length === 0) return;
    const items = await request(service, photos, ending);
    if (ending.aborted) return;
    const found = new Map(items.map((item) => [item.path, item]));
    lastDetails = new Map([...lastDetails, ...photos.map(({ path }) => [path, found.get(path) ?? null] as const)]);
    const known = photos.map((entry) => [keyOf(entry), found.get(entry.path) ?? null] as const);
    // At the same time, so that the photos move only once.
    batch(() => {
      PHOTO_DETAILS.value = new Map([...PHOTO_DETAILS.peek(), ...known]);
      sort();
    });
  }
}

/** After a failure, the photos have their default aspect ratio and the times of the files. */
async function request(
  service: Service,
  photos: readonly FileEntry[],
  ending: AbortSignal,
): Promise<readonly MediaItem[]> {
  try {
    const body = { paths: photos.map(({ path }) => path) };
    return (await service.send<MediaList>('-/media', { method: 'POST', body, signal: ending })).items;
  } catch {
    return [];
  }
}
