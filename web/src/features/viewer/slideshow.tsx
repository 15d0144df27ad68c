import { useEffect, useRef, useState } from 'preact/hooks';
import { previewKindOf } from '../../platform/preview-kinds.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { MenuButton } from '../../ui/menus.tsx';
import { enterFullscreen, leaveFullscreen } from './fullscreen.ts';
import type { Gallery } from './gallery.ts';
import type { ViewerState } from './viewer-tools.ts';
import './slideshow.css';

/** The choices for the seconds per photo. */
const INTERVALS = [3, 5, 10, 20, 60] as const;
const DEFAULT_INTERVAL = 5;
/** The key of the chosen interval in the storage of the browser. */
const KEY = 'holdall-slideshow';
/** Milliseconds after which a photo that does not load is skipped. */
const MAX_LOADING_MS = 15_000;

interface SlideshowProps {
  path: string;
  gallery: Gallery;
  viewer: ViewerState;
  isPaused: boolean;
  /** Whether the buttons are hidden. */
  isIdle: boolean;
  onPause: (isPaused: boolean) => void;
  onShow: (file: FileEntry) => void;
  onEnd: () => void;
}

/** Shows one photo of the folder after the other, and the buttons for it. */
export function Slideshow({ path, gallery, viewer, isPaused, isIdle, onPause, onShow, onEnd }: SlideshowProps) {
  const { text } = useFullLanguage();
  const { previews } = text;
  const [seconds, setSeconds] = useState(readInterval);
  useWholeScreen(viewer);
  const next = useRef<FileEntry>(undefined);
  next.current = nextPhoto(gallery);
  const isShown = viewer.shownPhoto.value === path;
  useEffect(() => {
    if (isPaused) return undefined;
    const show = () => (next.current ? onShow(next.current) : onEnd());
    const timer = setTimeout(show, isShown ? seconds * 1000 : MAX_LOADING_MS);
    return () => clearTimeout(timer);
  }, [path, isShown, isPaused, seconds]);

  const choose = (interval: number) => {
    setSeconds(interval);
    writeInterval(interval);
  };
  const intervals = () => [
    {
      label: previews.interval,
      items: INTERVALS.map((interval) => ({
        id: String(interval),
        label: previews.seconds({ count: interval }),
        isChecked: interval === seconds,
        run: () => choose(interval),
      })),
    },
  ];
  return (
    <div class={`slideshow-bar ${isIdle ? 'idle' : ''}`} role="toolbar" aria-label={previews.slideshow}>
      <IconButton
        icon={isPaused ? 'play' : 'pause'}
        label={isPaused ? previews.resumeSlideshow : previews.pauseSlideshow}
        shortcut={keyLabel(' ', { ' ': text.shortcuts.keys.space })}
        onClick={() => onPause(!isPaused)}
      />
      <MenuButton label={previews.interval} groups={intervals} class="interval numbers">
        {previews.seconds({ count: seconds })}
      </MenuButton>
      <IconButton icon="close" label={previews.endSlideshow} shortcut={keyLabel('Escape')} onClick={onEnd} />
    </div>
  );
}

/** Returns the next image; after the last one, the first. Undefined if there is no other one. */
function nextPhoto({ files, index }: Gallery): FileEntry | undefined {
  const isPhoto = (file: FileEntry) => previewKindOf(file) === 'image';
  return files.slice(index + 1).find(isPhoto) ?? files.slice(0, Math.max(0, index)).find(isPhoto);
}

/** Fills the screen, and keeps it on, while the component is mounted and the browser allows it. */
function useWholeScreen(viewer: ViewerState): void {
  useEffect(() => {
    const ending = new AbortController();
    const wasWhole = document.fullscreenElement !== null;
    if (!wasWhole) void enterFullscreen(viewer);
    void keepScreenOn(ending.signal);
    return () => {
      ending.abort();
      if (!wasWhole) void leaveFullscreen();
    };
  }, []);
}

async function keepScreenOn(signal: AbortSignal): Promise<void> {
  // The browser can deny it, for example when the battery is low, or lack it.
  const lock = await navigator.wakeLock?.request('screen').catch(() => undefined);
  if (!lock) return;
  if (signal.aborted) return void lock.release();
  signal.addEventListener('abort', () => void lock.release(), { once: true });
}

function readInterval(): number {
  try {
    const stored = Number(window.localStorage.getItem(KEY));
    return INTERVALS.find((interval) => interval === stored) ?? DEFAULT_INTERVAL;
  } catch {
    return DEFAULT_INTERVAL;
  }
}

/** If the browser denies access to the storage, the choice applies to this slideshow. */
function writeInterval(interval: number): void {
  try {
    window.localStorage.setItem(KEY, String(interval));
  } catch {}
}
