import { useEffect, useState } from 'preact/hooks';
import type { ViewerState } from './viewer-tools.ts';

/** Whether the browser can show the page on the whole screen. Browsers of iPhones can't. */
export const canBeFullscreen = () => document.fullscreenEnabled;

/**
 * Shows the viewer on the whole screen, if the browser allows it. Not the whole page, which would cover the dialog of the
 * viewer in WebKit.
 */
export async function enterFullscreen({ frame }: ViewerState): Promise<void> {
  if (canBeFullscreen()) await frame.current?.requestFullscreen().catch(() => {});
}

export async function leaveFullscreen(): Promise<void> {
  if (document.fullscreenElement) await document.exitFullscreen().catch(() => {});
}

/** Returns whether the page is on the whole screen. Leaves it when the component is unmounted. */
export function useFullscreen(): boolean {
  const [isFullscreen, setFullscreen] = useState(document.fullscreenElement !== null);
  useEffect(() => {
    const update = () => setFullscreen(document.fullscreenElement !== null);
    document.addEventListener('fullscreenchange', update);
    return () => {
      document.removeEventListener('fullscreenchange', update);
      void leaveFullscreen();
    };
  }, []);
  return isFullscreen;
}
