import { Component, type ComponentChild } from 'preact';
import type { PreviewProps } from '../viewer-tools.ts';
import { TextInstead } from './text-instead.tsx';

interface ElseTextProps extends PreviewProps {
  reason: string;
  children: ComponentChild;
}

/** Shows the text of a file where drawing what is made of it fails. */
export class ElseText extends Component<ElseTextProps, { isFailed: boolean }> {
  override state = { isFailed: false };

  static override getDerivedStateFromError() {
    return { isFailed: true };
  }

  override render({ children, ...props }: ElseTextProps) {
    return this.state.isFailed ? <TextInstead {...props} /> : <>{children}</>;
  }
}
