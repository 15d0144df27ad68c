import { batch, signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { MediaList } from '../../../../src/http/schemas.ts';
import { hasThumbnail } from '../../platform/file-kinds.ts';
import type { Entry, FileEntry, Service } from '../../platform/service/service.ts';
import { whenPicturesLoaded } from '../../ui/when-idle.ts';
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
/** The photos of one request. The first one is shorter, so that the visible photos soon have their aspect ratios. */
const FIRST_BATCH = 50;
const BATCH = 500;

const keyOf = ({ path, etag }: FileEntry) => `${etag} ${path}`;

/**
 * The details by which photos are sorted, by their paths. They are complete when they are replaced, so that photos don't move with
 * each request, and a photo with a new version stays until its details are known.
 */
let sortedDetails: ReadonlyMap<string, Details> = new Map();

/** Without details, photos have the aspect ratio of most cameras, and the time of the file. */
export const PHOTO_SOURCE: PhotoSource = {
  aspectOf(entry) {
    if (!hasThumbnail(entry)) return undefined;
    const known = PHOTO_DETAILS.peek().get(keyOf(entry));
    const details = known === undefined ? sortedDetails.get(entry.path) : known;
    return details ? details.width / details.height : TYPICAL_ASPECT;
  },
  timeOf: (entry) => (hasThumbnail(entry) ? timeOf(entry) : ''),
};

function timeOf(entry: FileEntry): string {
  const takenAt = sortedDetails.get(entry.path)?.takenAt;
  if (takenAt !== undefined) return takenAt.slice(0, 19);
  return entry.modified === null ? '' : localTime(new Date(entry.modified));
}

function localTime(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return Number.isNaN(local.getTime()) ? '' : local.toISOString().slice(0, 19);
}

/** Sorts the folder by the times of its photos when all are known, and requests their details: first those that are visible. */
export function PhotoLoader({ entries, first }: LoaderProps) {
  const folder = useFolder();
  const service = useService();
  const visible = useRef(first);
  visible.current = first;
  const latest = useRef(entries);
  latest.current = entries;

  const updateTimes = () => {
    // Photos that a filter hides keep their times, so that they are in order when they return.
    const before = folder.photoTimes.peek() ?? [];
    const photos = photosOf(latest.current);
    folder.photoTimes.value = new Map([...before, ...photos.map((entry) => [entry.path, timeOf(entry)] as const)]);
  };
  useEffect(updateTimes, [membersOf(entries)]);
  useEffect(
    () => () => {
      folder.photoTimes.value = null;
    },
    [],
  );

  const isLoading = useRef(false);
  const ending = useMemo(() => new AbortController(), []);
  useEffect(() => () => ending.abort(), []);
  useEffect(() => {
    // A request that is in progress continues with the entries that were added.
    if (isLoading.current) return;
    isLoading.current = true;
    const load = async () => {
      await loadAll(service, () => unknownPhotos(latest.current, visible.current), ending.signal);
      isLoading.current = false;
      if (ending.signal.aborted || areSorted(latest.current)) return;
      // At the same time, so that the photos move only once.
      batch(() => {
        applyDetails(latest.current);
        updateTimes();
      });
    };
    void load();
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

const photosOf = (entries: readonly Entry[]) => entries.filter((entry) => hasThumbnail(entry));

/** Returns whether the photos are sorted by all that is known of them. */
function areSorted(entries: readonly Entry[]): boolean {
  return photosOf(entries).every((entry) => sortedDetails.get(entry.path) === PHOTO_DETAILS.peek().get(keyOf(entry)));
}

/** Makes what is known of the photos the details by which they are sorted. */
function applyDetails(entries: readonly Entry[]): void {
  const known = PHOTO_DETAILS.peek();
  const details = photosOf(entries).map((entry) => [entry.path, known.get(keyOf(entry)) ?? null] as const);
  sortedDetails = new Map([...sortedDetails, ...details]);
  PHOTO_DETAILS.value = new Map(known);
}

/** Returns the photos without details, beginning with the visible ones. */
function unknownPhotos(entries: readonly Entry[], first: number): readonly FileEntry[] {
  const known = PHOTO_DETAILS.peek();
  const fromVisible = [...entries.slice(first), ...entries.slice(0, first)];
  return photosOf(fromVisible).filter((entry) => !known.has(keyOf(entry)));
}

async function loadAll(service: Service, next: () => readonly FileEntry[], ending: AbortSignal): Promise<void> {
  if (PHOTO_DETAILS.peek().size > MAX_REMEMBERED) {
    sortedDetails = new Map();
    PHOTO_DETAILS.value = new Map();
  }
  for (let size = FIRST_BATCH; !ending.aborted; size = BATCH) {
    const photos = next().slice(0, size);
    if (photos.length === 0) return;
    // The pictures of the visible photos are first.
    if (size === BATCH) await new Promise<void>((resolve) => whenPicturesLoaded(resolve));
    const items = await request(service, photos, ending);
    if (ending.aborted) return;
    const found = new Map(items.map((item) => [item.path, item]));
    PHOTO_DETAILS.value = new Map([
      ...PHOTO_DETAILS.peek(),
      ...photos.map((entry) => [keyOf(entry), found.get(entry.path) ?? null] as const),
    ]);
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
