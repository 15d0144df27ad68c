import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { useChanges, useUploads } from '../models.ts';

/** The tray of uploads and long changes. It appears when the first one starts. */
export function Tray() {
  const uploads = useUploads().model.value;
  const changes = useChanges();
  const hasUploads = uploads !== null && (uploads.items.value.length > 0 || uploads.filesFound.value !== null);
  const isShown = hasUploads || changes.running.value.length > 0;
  const isPreloaded = uploads !== null;
  useEffect(() => {
    // Uploads and changes continue even if the tray can't be loaded.
    if (isShown || isPreloaded) void load().catch(() => {});
  }, [isShown, isPreloaded]);

  const OpenTray = loaded.value;
  return isShown && OpenTray ? <OpenTray uploads={uploads} hasUploads={hasUploads} /> : null;
}

const loaded = signal<typeof import('./open-tray.tsx').OpenTray | null>(null);

async function load(): Promise<void> {
  const { OpenTray } = await import('./open-tray.tsx');
  loaded.value = OpenTray;
}
