import { useEffect, useRef } from 'preact/hooks';
import { useRouter } from '../models.ts';

/** Leaves the preview, once: going back takes a moment, in which Escape may be pressed again. */
export function useClosePreview(path: string): () => void {
  const router = useRouter();
  const left = useRef<string | null>(null);
  useEffect(() => {
    left.current = null;
    // What closes the dialog after it is gone, closes nothing.
    return () => {
      left.current = path;
    };
  }, [path]);
  return () => {
    if (left.current === path || router.route.peek().preview === null) return;
    left.current = path;
    router.closePreview();
  };
}
