# shellcheck shell=bash
# bash completion for ib-hook(8)
_ib_hook() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} nic words
    # --name=value comes in three words
    [ "$word" != = ] || word=
    [ "$before" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}
    case $before in
        --iface)
            # the name of a NIC may contain $(command), which compgen -W would run
            COMPREPLY=()
            for nic in /sys/class/net/*; do
                nic=${nic##*/}
                [[ $nic != "$word"* ]] || COMPREPLY+=("$(printf %q "$nic")")
            done
            return
            ;;
        --render) words="netplan networkd nmcli ifupdown ifcfg rt_tables env" ;;
        --config)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --sysfs)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -d -- "$word")
            return
            ;;
        *)
            words="--show --check --plan --apply --confirm --undo --render --watch --probe --version --help
                --iface --json --prometheus --count --rdma --config --sysfs --verbose --quiet"
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _ib_hook ib-hook
