import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useChanges, useUploads } from '../models.ts';

/** Uploads and long changes, at the lower right. It comes with them, and goes when all went well. */
export function Tray() {
  const uploads = useUploads();
  const changes = useChanges();
  const all = uploads.all.value;
  const hasUploads = all !== null && (all.items.value.length > 0 || all.reading.value !== null);
  const isShown = hasUploads || changes.running.value.length > 0;
  const isNeeded = isShown || all !== null;
  useEffect(() => {
    // What is under way goes on without it.
    if (isNeeded) void load().catch(() => {});
  }, [isNeeded, isShown]);

  const OpenTray = loaded.value;
  return isShown && OpenTray ? <OpenTray all={all} /> : null;
}

/** The tray as it is shown: loaded with the queue of uploads, or when there is a change to tell of. */
const loaded = signal<typeof import('./open-tray.tsx').OpenTray | null>(null);

async function load(): Promise<void> {
  const { OpenTray } = await import('./open-tray.tsx');
  loaded.value = OpenTray;
}
