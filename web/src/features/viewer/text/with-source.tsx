import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { useTools, type ViewerState, type ViewerTool } from '../viewer-tools.ts';
import { wrapTool } from './source.tsx';
import { ColouredSource } from './whole-source.tsx';

interface WithSourceProps {
  name: string;
  text: string;
  viewer: ViewerState;
  children: ComponentChild;
}

/** Something that is made of a text, and that text itself for those who want to see it. */
export function WithSource({ name, text: source, viewer, children }: WithSourceProps) {
  const { text } = useFullLanguage();
  const [isSource, setSource] = useState(false);
  const isWrapped = viewer.isWrapped.value;
  const toggle: ViewerTool = {
    id: 'source',
    button: { icon: 'code', label: text.previews.source, pressed: isSource },
    keys: ['s'],
    run: () => setSource(!isSource),
  };
  useTools(viewer, () => (isSource ? [toggle, wrapTool(viewer, text)] : [toggle]), [isSource, isWrapped, text]);
  return isSource ? <ColouredSource name={name} text={source} viewer={viewer} /> : <>{children}</>;
}
